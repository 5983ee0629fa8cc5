/** The commands of `npm run admin`, as its --help shows them. */
export const USAGE = `Usage:
  npm run admin -- journal verify [--data DIR]
      checks every journal, mark and snapshot, and replays everything; the exchange may be running
  npm run admin -- journal repair [--data DIR] [--shard K] [--accept-loss]
      makes safe repairs; with --accept-loss also repairs that give something up, which it names; nothing is deleted
  npm run admin -- journal export [--data DIR] [--market UUID] [--from N] [--format ndjson]
      the history, a line per event, from record N of each shard on; the exchange may be running
  npm run admin -- history write FOLDER [--data DIR]
      writes the public history of all days that are over to FOLDER, as HISTORY_DIR has it; the exchange may be running
  npm run admin -- journal adopt [--data DIR]
      makes a new journal.key and vouches for the present records: after an upgrade from a version without such a key
  npm run admin -- control repair [--data DIR] [--accept-loss]
      makes a damaged control.db anew from its readable rows, and names the lost ones; with --accept-loss puts it in
      place; the exchange must be stopped
  npm run admin -- projections rebuild [--data DIR] [--from FILE] [--accept-loss]
      makes read.db anew from the journals, or from a copy and the records after it; the exchange must be stopped; the
      old file is replaced once the new one is whole; with --accept-loss even if its history is nowhere else
  npm run admin -- projections verify [--data DIR]
      compares read.db with the journals and with the engine's state; the exchange must be stopped
  npm run admin -- projections backup FILE [--data DIR]
      copies read.db to FILE, as it is at one moment; the exchange may be running
  npm run admin -- backup FOLDER [--data DIR] [--rate MB] [--leave-out read.db] [--prune]
      adds to FOLDER a backup of DIR as of one moment; the exchange may be running; only parts that no earlier backup
      has are written; reads MB megabytes a second (40; 0: no limit); --prune keeps the backups of a day, 7 days, 4
      weeks and 12 months, and removes others
  npm run admin -- restore FOLDER [--data DIR] [--point NAME | --to TIME] [--as-it-was] [--leave-out FILE]
      [--set-aside]
      makes DIR, which must be empty, from the newest backup, from the one with this name, or as it was before a time;
      checks and audits it; it starts paused, unless nothing has happened since the backup (--as-it-was); --leave-out
      restores without a damaged file that can be made anew; --set-aside moves the files of DIR into its folder
      left-TIME
  npm run admin -- backups list FOLDER
  npm run admin -- backups verify FOLDER
      names the backups in FOLDER and how far each goes; verify compares every part with its hash, and sets damaged
      parts aside
  npm run admin -- backups drill FOLDER [--data DIR]
      restores the newest backup into a temporary folder of FOLDER, replays and audits it, and notes the result in DIR
  npm run admin -- keys rotate [--data DIR]
      seals all secrets under a new master key: NEW_MASTER_KEY, or a random one if the key is a file of DIR; the
      exchange must be stopped; after an interruption the same command finishes the rotation; in a cluster all members
      must be stopped, and the others then join the member in DIR anew (JOURNAL_URL)
  npm run admin -- reshard N [--data DIR]
      divides the markets among N shards; the exchange must be stopped; after an interruption the same command goes on
  npm run admin -- audit [--data DIR]
      adds up every balance from the journals alone and compares it with the engine's; the exchange may be running, but
      deposits and withdrawals are compared with control.db only if it is stopped
  npm run admin -- audit-log [--data DIR] [--from N]
      writes the audit log from record N on, a line of JSON per record, and says on standard error whether its chain is
      whole; the exchange may be running
  npm run admin -- chain reconcile [--data DIR] [--all]
      compares every balance of the ledger with the chain's, at the last block that settlement has read; shows the
      differing ones, with --all the others too, in millionths; the exchange may be running; RPC_URL is the exchange's
  npm run admin -- chain adopt [--data DIR]
      brings a settlement.db that is older than its journals up to date, from control.db and the chain; takes over
      what the chain has carried out since a restore; the exchange must be stopped; RPC_URL is the exchange's
  npm run admin -- cluster status
      shows the members of a cluster, which of them leads, and how far each has followed the log in JOURNAL_URL
  npm run admin -- cluster promote [MEMBER] [--now]
      hands the lead over to a standby, by default to the one that has followed furthest: the leader stops in order and
      starts again as a standby; with --now the standby takes the lead without the leader's help, if the leader hangs
  npm run admin -- cluster leave MEMBER
      for a stopped member that will not come back: the log no longer keeps rows for it, and no lead waits for it; if it
      comes back after all, it joins anew, or is refused if it has rows that the log lacks
  npm run admin -- cluster found --new
      the first step of a new cluster: makes an empty log, under CLUSTER_NAME in the database of JOURNAL_URL; until
      there is one, a member without files does not start
  npm run admin -- cluster found MEMBER [--without MEMBER]...
      if there is no log any more, as after the loss of its database: makes a new one that goes on from the files of
      MEMBER. First start each member once: it is refused, and reports which rows it has. Members that have rows which
      MEMBER lacks, or have not reported, are named; --without gives such a member up
  npm run admin -- cluster refill MEMBER [--without MEMBER]...
      the same if the log has lost rows, as after a restore, or after the promotion of a lagging server; every member
      must be stopped
  npm run admin -- cluster accept-loss [--data DIR] [--count N]
      on the machine of a member that was refused because it has rows that the log lacks: writes every order, cancel and
      payment in them to a file in DIR, and says how many there are; with this number as N, sets the files of the member
      aside, and its next start joins with a copy
  npm run admin -- cluster raise
      the end of an upgrade: the next lead writes what every member knows, and older versions are refused
  npm run admin -- cluster doctor
      checks from here every server in JOURNAL_URL: its version, clock, standbys and rights; and that members answer,
      have the settings of the cluster and run one version; checks MEMBER_NAME, MEMBER_URL and SHARDS too, if set
  npm run admin -- cluster fence
      ends the lead of the present leader: another member takes over, and the former leader becomes a standby

FILE may be - for standard input or output. DIR is DATA_DIR or data/live. If neither is given, settings come from the
unit that runs the exchange on this machine, or from the unit that --service FILE names: run the command as root, which
can read them; before it writes, it becomes the owner of DIR. A running exchange is administered with pmx admin.`;
