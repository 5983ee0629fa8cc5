/** The next step if settlement.db is damaged, missing or of another exchange: an older file can be upgraded. */
export const SETTLEMENT_REMEDY =
  'put back its own, or an older one, such as a backup has (`npm run admin -- restore` makes another directory with ' +
  'it), and bring that up to these journals with `npm run admin -- chain adopt`';
