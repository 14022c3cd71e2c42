export { forget, offHeap } from './off-heap.js';
export {
  forbidCoreFiles,
  inheritableDescriptors,
  secureOwnProcess,
  warnOfSwap,
  type Warn,
} from './own-process.js';
