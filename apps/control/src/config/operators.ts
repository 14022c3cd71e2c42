import { parseJson } from '@valise/contracts/documents';
import { invalidSetting } from '@valise/contracts/settings';
import { isRecord } from '@valise/contracts/wire';
import { LiveFiles } from './live-files.js';

/** What an operator may do in a project; each role includes the ones before it. */
export const ROLES = ['viewer', 'editor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** The operators' roles, per project or `*`; who is not in it may do nothing. */
export class Operators {
  constructor(private readonly roles: ReadonlyMap<string, ReadonlyMap<string, Role>>) {}

  isKnown(operatorId: string): boolean {
    return this.roles.has(operatorId);
  }

  /** Whether the operator has at least `role` in the project; `*` asks for all projects at once. */
  permits(operatorId: string, projectId: string, role: Role): boolean {
    const grants = this.roles.get(operatorId);
    const held = [grants?.get(projectId), grants?.get('*')];
    return held.some((grant) => grant !== undefined && ROLES.indexOf(grant) >= ROLES.indexOf(role));
  }
}

/** Injects the operators' file. */
export const OPERATORS = Symbol('operators');

const SETTING = 'VALISE_OPERATORS_FILE';

/** The operators that a file names, now and whenever it is read again. @throws ValiseError configuration_invalid */
export function openOperators(file: string): LiveFiles<Operators> {
  return LiveFiles.open(new Map([[SETTING, file]]), (contentOf) => {
    try {
      return parseOperators(contentOf(SETTING));
    } catch {
      throw invalidSetting(SETTING, 'must give operators their roles by project');
    }
  });
}

/** Reads `{"<operatorId>": {"<projectId or *>": "viewer" | "editor" | "admin"}}`. @throws Error without content. */
function parseOperators(document: Buffer): Operators {
  const json = parseJson(document);
  if (!isRecord(json)) throw new Error('not an object');
  const roles = Object.entries(json).map(([operatorId, grants]): [string, ReadonlyMap<string, Role>] => {
    if (!isRecord(grants)) throw new Error('not an object');
    return [operatorId, new Map(Object.entries(grants).map(([project, role]) => [project, parseRole(role)]))];
  });
  return new Operators(new Map(roles));
}

function parseRole(role: unknown): Role {
  const known = ROLES.find((candidate) => candidate === role);
  if (known === undefined) throw new Error('not a role');
  return known;
}
