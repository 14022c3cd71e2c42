/** Where log artefacts lie until control has them; the worker's alone. */
export const LOG_DIRECTORY = Symbol('LOG_DIRECTORY');
