export { pemBlocks } from './pem.js';
export {
  absolutePath,
  fileContent,
  flag,
  httpsOrigin,
  integer,
  listenAddress,
  listOf,
  LOG_LEVELS,
  oneOf,
  trustDomain,
  variableNames,
  type ListenAddress,
  type LogLevel,
} from './rules.js';
export { invalidSetting, RuleBroken, Settings, type Rule } from './settings.js';
