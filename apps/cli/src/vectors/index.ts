export { runVectors } from './run-vectors.js';
