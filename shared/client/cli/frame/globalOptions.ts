/** The options that every command has. */
import type { OptionSpecs } from './command.ts';

export const GLOBAL_OPTIONS: OptionSpecs = {
  json: { description: "print the exchange's own answer as JSON" },
  profile: { value: 'name', description: 'the settings of this name (PMX_PROFILE)', profile: true },
  url: { value: 'address', description: 'the exchange, of a cluster its members: a,b (BASE_URL)' },
  service: {
    value: 'file',
    description: 'the unit or compose file of the exchange, for operators (PMX_SERVICE)',
    file: true,
  },
  as: { value: 'name', description: 'a demo account of the exchange on this machine' },
  timeout: { value: 'seconds', description: 'how long an answer may take', fallback: '10' },
};
