/** The commands of `npm run admin`, as its --help shows them. */
export const USAGE = `Usage:
  npm run admin -- journal verify [--data DIR]
      checks every journal, mark and snapshot, and replays everything; the exchange may be running
  npm run admin -- journal repair [--data DIR] [--shard K] [--accept-loss]
      does what is safe; with --accept-loss also what gives something up, and says what; nothing is deleted
  npm run admin -- journal export [--data DIR] [--market UUID] [--from N] [--format ndjson]
      the history, a line per event, from record N of each shard on; the exchange may be running
  npm run admin -- journal adopt [--data DIR]
      makes a new journal.key and vouches for the records there are: after an upgrade from a version without one
  npm run admin -- control repair [--data DIR] [--accept-loss]
      makes a damaged control.db anew from the rows that can be read, and says what is lost; with --accept-loss puts it
      in place; the exchange must be stopped
  npm run admin -- projections rebuild [--data DIR] [--from FILE] [--accept-loss]
      makes read.db anew from the journals, or from a copy and the records after it; the exchange must be stopped; the
      old file is replaced when the new one is whole; --accept-loss: also where it has history that nothing else has
  npm run admin -- projections verify [--data DIR]
      compares read.db with the journals and with the engine's state; the exchange must be stopped
  npm run admin -- projections backup FILE [--data DIR]
      copies read.db to FILE, as it is at one moment; the exchange may be running
  npm run admin -- backup FOLDER [--data DIR] [--rate MB] [--leave-out read.db] [--prune]
      adds to FOLDER what DIR has as it is at one moment; the exchange may be running; only what no earlier backup has
      is written; reads MB megabytes a second (40; 0: no limit); --prune keeps those of a day, 7 days, 4 weeks and 12
      months
  npm run admin -- restore FOLDER [--data DIR] [--point NAME | --to TIME] [--as-it-was] [--leave-out FILE]
      [--set-aside]
      makes DIR, which must be empty, from the newest backup, from one, or as it was before a time; checks and audits
      it; it starts paused, unless nothing has happened since (--as-it-was); without a file that is damaged in the
      backup and can be missed (--leave-out); --set-aside moves what DIR has into a folder of it, left-TIME
  npm run admin -- backups list FOLDER
  npm run admin -- backups verify FOLDER
      names the backups in FOLDER and how far each goes; compares every part of them with its hash, and sets aside what
      is damaged
  npm run admin -- backups drill FOLDER [--data DIR]
      restores the newest backup into a temporary folder of FOLDER, replays and audits it, and notes the result in DIR
  npm run admin -- keys rotate [--data DIR]
      seals all secrets under a new master key: NEW_MASTER_KEY, or a random one where the key is a file of DIR; the
      exchange must be stopped; after an interruption the same command finishes the rotation; of a cluster all members
      must be stopped, and the others join the one in DIR anew (JOURNAL_URL)
  npm run admin -- audit [--data DIR]
      adds up every balance from the journals alone and compares; the exchange may be running, but only of one that is
      stopped deposits and withdrawals are compared with control.db
  npm run admin -- audit-log [--data DIR] [--from N]
      writes the audit log from record N on, a line of JSON per record, and says on standard error whether its chain is
      whole; the exchange may be running
  npm run admin -- chain reconcile [--data DIR] [--all]
      compares every balance of the ledger with what the chain holds, at the last block that settlement has read; shows
      those that differ, with --all the others too, in millionths; the exchange may be running; RPC_URL is that of it
  npm run admin -- chain adopt [--data DIR]
      brings a settlement.db that is older than its journals up to them, with what control.db and the chain know; takes
      over what the chain has carried out since a restore; the exchange must be stopped; RPC_URL is that of it
  npm run admin -- cluster status
      shows the members of a cluster, which of them leads, and how far each has followed the log in JOURNAL_URL
  npm run admin -- cluster promote [MEMBER] [--now]
      hands the lead over to a standby, or to the one that has followed furthest: the leader ends in order and begins
      anew as a standby; with --now the standby takes the lead without it, from a leader that hangs
  npm run admin -- cluster leave MEMBER
      a stopped member that will not come back no longer keeps rows in the log, and no lead waits for it; should it
      come back, it joins anew, or is refused where it has what the log has not
  npm run admin -- cluster found --new
      the first step of a new cluster: a log without anything, under CLUSTER_NAME in the database of JOURNAL_URL; until
      there is one, a member without files does not start
  npm run admin -- cluster found MEMBER [--without MEMBER]...
      where there is no log any more, as after the loss of its database: a new one goes on from what MEMBER has. Each
      member was started once before: it is refused, and writes down what it has. Those that have something which
      MEMBER does not have, or have not reported, are named, and given up with --without
  npm run admin -- cluster refill MEMBER [--without MEMBER]...
      the same where the log has lost rows, as after a restore, or a promotion of a server that lags; every member is
      stopped
  npm run admin -- cluster accept-loss [--data DIR] [--count N]
      on the machine of a member that was refused because it has what the log has not: writes every order, cancel and
      payment of that to a file of DIR, and says how many; with their number the files of the member are set aside, and
      its next start joins with a copy
  npm run admin -- cluster raise
      the end of an upgrade: the next lead writes what every member knows, and older versions are refused
  npm run admin -- cluster doctor
      checks from here: every server in JOURNAL_URL, its version, clock, standbys and rights; that members answer, have
      the settings of the cluster and run one version; with MEMBER_NAME, MEMBER_URL and SHARDS also those
  npm run admin -- cluster fence
      ends the lead of whichever member has it: another one takes over, and the former leader becomes a standby

FILE may be - for standard input or output. DIR is DATA_DIR or data/live. Where neither is given, settings are those of
the unit that runs the exchange on this machine, or of the unit that --service FILE names: run it as root, which reads
them, and what writes becomes the owner of DIR first. A running exchange is administered with pmx admin.`;
