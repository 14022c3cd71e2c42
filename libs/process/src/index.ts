export { forget, offHeap } from './off-heap.js';
export { standardOutput } from './standard-output.js';
export { forbidCoreFiles, inheritableDescriptors, secureOwnProcess, warnOfSwap } from './own-process.js';
