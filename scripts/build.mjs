import './node-version.mjs';

const { giveUp, PROGRAMS, rebuild } = await import('./prepare.mjs');
await rebuild(PROGRAMS).catch(giveUp);
