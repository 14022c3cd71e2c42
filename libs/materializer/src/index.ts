export {
  expandEnvironment,
  type EnvironmentSource,
  type ExpandedEntry,
  type ExpandedEnvironment,
} from './expand-environment.js';
export { MaterializerModule } from './materializer.module.js';
export { Materializer } from './materializer.js';
