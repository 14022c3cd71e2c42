// The least that is a Nest application context: a module with nothing in it, kept alive.
require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');

class Bare {}
Module({})(Bare);

async function main() {
  await NestFactory.createApplicationContext(Bare, { logger: false });
  console.log(JSON.stringify({ event: 'ready' }));
  setInterval(() => undefined, 60_000);
}

void main();
