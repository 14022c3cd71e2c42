export {
  forbidCoreFiles,
  inheritableDescriptors,
  secureOwnProcess,
  warnOfSwap,
  type Warn,
} from './own-process.js';
