/**
 * The metrics of the exchange: name, meaning and labels of each. The readers in metricReaders.ts and the document of
 * all metrics (data/docs/metrics.md) follow from this table.
 *
 * Names are part of the interface, because dashboards and alerts use them: a metric may be added, but none is renamed.
 */

type MetricRow = {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** One or two sentences for the reader of a dashboard. */
  readonly help: string;
  readonly labels: readonly string[];
};

const counter = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ type: 'counter', help, labels }) as const;
const gauge = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ type: 'gauge', help, labels }) as const;
const histogram = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ type: 'histogram', help, labels }) as const;

export const METRICS = {
  // Requests.
  exchange_requests_total: counter('Finished requests, by route and status.', 'method', 'route', 'status'),
  exchange_request_seconds: histogram(
    'Time from the arrival of a request until its answer is written.',
    'method',
    'route',
  ),
  exchange_request_stage_seconds: histogram(
    'Time by stage: receive (body), identify (key, scope, limit), validate, handle, answer (durable, sent).',
    'method',
    'route',
    'stage',
  ),
  exchange_refusals_total: counter('Refused requests, by the code of the error.', 'code'),
  exchange_rate_limit_decisions_total: counter('Decisions of the rate limits.', 'decision'),
  exchange_unnamed_proxy_requests_total: counter(
    'Requests without credentials from a proxy that TRUST_PROXY does not name: its clients share one limit.',
  ),
  // With REDIS_URL.
  exchange_limits_counted: gauge('0 while Redis does not count: orders and reads are refused, cancels go on.'),
  exchange_placed_requests_total: counter('Requests that place orders or move funds and were carried out.'),
  exchange_turned_away_requests_total: counter(
    'Requests to place orders or move funds, refused for a cause of the exchange itself, by the code of the error.',
    'code',
  ),
  exchange_bad_signature_refusals_total: counter('Orders refused because of the signatures of earlier ones.'),
  exchange_request_turn_seconds: histogram('How long a request blocked the thread that answers it at a time.'),
  exchange_request_turn_worst_seconds: gauge(
    'The longest turn of a route in the last minute or two.',
    'method',
    'route',
  ),
  exchange_long_answers: gauge('Answers that are being written in pieces.'),
  exchange_long_answer_pieces_total: counter('Pieces of long answers that were written.'),
  exchange_connections: gauge('Open connections.'),
  exchange_connections_refused_total: counter('Connections closed at once because there were too many.'),
  exchange_stream_connections: gauge('Open WebSockets; exchange_connections counts them too.'),
  // Front threads; absent without them (GATEWAYS).
  exchange_thread_connections: gauge('Open connections by their thread; 0 is the gateway thread.', 'thread'),
  exchange_front_calls_total: counter('Calls that a front thread has passed on to the gateway thread.', 'thread'),
  exchange_front_prepared_total: counter(
    'Calls that were passed on with their signature verified already, and their bodies scanned.',
    'thread',
  ),
  exchange_front_answers_total: counter('Reads that a front thread has answered itself.', 'thread'),
  exchange_front_unread_bytes: gauge('Bytes of answers and frames that a front thread has not read yet.', 'thread'),
  exchange_front_failures_total: counter('Front threads that have failed and were started again.'),
  // The gateway thread and its helpers.
  exchange_event_loop_delay_seconds: histogram('How late a timer of 20 ms fires in the gateway thread.'),
  exchange_event_loop_active_seconds_total: counter('Time in which the event loop of the gateway thread worked.'),
  exchange_event_loop_idle_seconds_total: counter(
    'Time in which the event loop of the gateway thread had nothing to do.',
  ),
  exchange_log_lines_dropped_total: counter('Lines of the log that were dropped because nothing read them in time.'),
  exchange_thread_ends_total: counter('Ends of threads by a failure; each thread is started again.', 'thread'),
  exchange_fallbacks_total: counter(
    'Data found damaged, cut or lost that the exchange goes on without, by kind.',
    'kind',
  ),
  exchange_control_rows_damaged: gauge('Rows of control.db whose checksum was wrong at the start.'),
  exchange_query_seconds: histogram('How long queries about the past ran, without their wait for a thread.'),
  exchange_queries_waiting: gauge('Queries about the past that wait for a thread.'),
  exchange_kept_answers: gauge('Answers kept for idempotency keys, of all accounts.'),
  exchange_kept_answers_bytes: gauge('Bytes of the answers kept for idempotency keys.'),
  exchange_kept_answers_full: gauge(
    '1 while the disk has no space for kept answers: requests with an idempotency key, except cancels, are refused.',
  ),
  // Memory. The part of `exchange_memory_bytes` that no thread accounts for is native: SQLite, and memory that threads
  // share.
  exchange_memory_bytes: gauge(
    'Memory of the process: resident, its parts anonymous, file and shared, and private (of this process alone).',
    'kind',
  ),
  exchange_memory_limit_bytes: gauge('The most memory that the system gives the process.'),
  exchange_thread_memory_bytes: gauge(
    "Memory of a thread: V8's heap, its used part, memory outside of it (external), and V8's own needs.",
    'thread',
    'kind',
  ),
  // The cluster; absent without one.
  exchange_cluster_leading: gauge('1 while this member leads, 0 while it is a standby.'),
  exchange_cluster_epoch: gauge('The number of the lead that this member has or follows.'),
  exchange_cluster_stale_seconds: gauge('Age of the data that this standby shows.'),
  exchange_cluster_log_bytes: gauge('Size of the log in its database.'),
  exchange_cluster_waiting_rows: gauge('Rows of this leader that the log does not hold yet.'),
  exchange_cluster_oldest_wait_seconds: gauge('How long the oldest row has waited until the log holds it.'),
  exchange_cluster_append_seconds: gauge('How long the last rows took until the log held them.'),
  exchange_cluster_behind_rows: gauge('Rows of the log that a standby has not applied yet.', 'member'),
  exchange_cluster_standbys: gauge('Standbys that have reported within the last 10 s.'),
  exchange_cluster_database_standbys: gauge(
    'Standbys of the database for which commits wait; absent if the database user may not see them.',
  ),
  exchange_cluster_member_info: gauge('Program version of each member that answers.', 'member', 'version'),
  // Shards.
  exchange_shard_ready: gauge('1 while the shard accepts commands.', 'shard'),
  exchange_open_orders: gauge('Open orders.', 'shard'),
  exchange_command_seconds: histogram(
    'Time from writing a command into the ring until its reply is handled: rings, queue, command and commit.',
    'shard',
    'kind',
  ),
  exchange_command_queue_seconds: histogram(
    'Time from writing a command into the ring until it runs, exact to the millisecond; cancels may overtake.',
    'shard',
  ),
  exchange_batch_commands: histogram('Commands that share a commit.', 'shard'),
  exchange_batch_run_seconds: histogram(
    'Time to run the commands of a batch, with the wait for more of them.',
    'shard',
  ),
  exchange_commit_seconds: histogram('Time to make a batch durable: one transaction, one sync.', 'shard'),
  exchange_batch_publish_seconds: histogram('Time to hand the events of a batch to the gateway.', 'shard'),
  exchange_command_ring_bytes: gauge('Bytes of commands that the shard has not read yet.', 'shard'),
  exchange_command_ring_capacity_bytes: gauge('Bytes that fit into the command ring.', 'shard'),
  exchange_event_ring_bytes: gauge('Bytes of events that the gateway has not read yet.', 'shard'),
  exchange_signature_checks_total: counter(
    'Order signatures by their checker: the shard one at a time, a batch of the shard, or a verifier thread.',
    'shard',
    'by',
  ),
  exchange_signature_batch_size: histogram('Order signatures that a shard checked together.', 'shard'),
  exchange_signature_batches_undecided_total: counter(
    'Batches with a wrong signature, whose signatures were then checked one by one.',
    'shard',
  ),
  exchange_signature_batch_exclusions_total: counter(
    'Wrong signatures that kept their account out of batches for a minute.',
    'shard',
  ),
  exchange_verifier_info: gauge('Which implementation checks the signatures of orders.', 'shard', 'verifier'),
  exchange_signature_spot_checks_total: counter(
    'Signature checks that the reference repeated in the background.',
    'shard',
  ),
  exchange_signature_spot_checks_missed_total: counter(
    'Checks chosen for the reference but left out because too many waited.',
    'shard',
  ),
  exchange_signature_differences_total: counter(
    'Checks in which the reference disagreed. Above 0 is a bug; from then on the reference decides.',
    'shard',
  ),
  // Journals and what follows them.
  exchange_journal_sequence: gauge('Last committed record.', 'shard'),
  exchange_journal_lag_commands: gauge('Commands sent to the shard whose commit is not known yet.', 'shard'),
  exchange_views_lag_records: gauge('Committed records that books and balances in memory do not show yet.', 'shard'),
  exchange_projector_lag_records: gauge('Committed records that the read model does not show yet.', 'shard'),
  exchange_projector_lag_seconds: gauge(
    'How long ago the oldest record was committed that the read model does not show yet.',
    'shard',
  ),
  exchange_history_from_seconds: gauge(
    'Start of the history in the read model, in seconds since 1970; 0: the first record.',
  ),
  exchange_public_history_lag_records: gauge(
    'Records of the journal that the public history does not have yet; 0 without HISTORY_DIR.',
    'shard',
  ),
  exchange_public_history_lag_seconds: gauge(
    'Age of the last record in the public history while it has not all; 0 without HISTORY_DIR.',
    'shard',
  ),
  exchange_position_differences_total: counter(
    'Positions whose quantity in the read model differed from that of the engine. Above 0 is a bug.',
  ),
  // The disk.
  exchange_disk_free_bytes: gauge('Bytes of the disk of the data directory that may still be written.'),
  exchange_disk_reserve_bytes: gauge('With fewer free bytes than this, requests that add data are refused.'),
  exchange_disk_low: gauge('1 while the disk is nearly full.'),
  exchange_file_bytes: gauge('Sizes of the files in the data directory; files in a folder are added up.', 'file'),
  exchange_journal_reserve_bytes: gauge('Bytes that the journal can write when the disk is full.', 'shard'),
  exchange_control_reserve_bytes: gauge('Bytes that control.db can write when the disk is full.'),
  exchange_reserve_wanted_bytes: gauge(
    'Bytes that each journal and control.db should have reserved: JOURNAL_RESERVE_MB.',
  ),
  // Backups: times and results that the administrator's program has noted in the data directory.
  exchange_backup_time_seconds: gauge('When the last whole backup ended, in seconds since 1970; 0: there is none.'),
  exchange_backup_failed: gauge('1 while the last backup has failed.'),
  exchange_backup_restore_time_seconds: gauge(
    'When a backup was last restored, replayed and audited in a drill, in seconds since 1970; 0: never.',
  ),
  exchange_backup_restore_failed: gauge('1 while the last drill has failed.'),
  exchange_backup_bytes: gauge('Bytes of the directory that the last whole backup has read.'),
  exchange_backup_new_bytes: gauge('Bytes of the last whole backup that no earlier backup had.'),
  exchange_backup_seconds: gauge('How long the last whole backup took.'),
  // Tables that, once full, refuse requests of others too (tables.md).
  exchange_bound_used: gauge('Used rows of a table that, once full, stops something.', 'bound'),
  exchange_bound_most: gauge('The number of rows at which the table is full.', 'bound'),
  // The chain: only with RPC_URL.
  exchange_fiat_alarmed_sessions: gauge('Sessions of cashing in and out that a person has to look at.'),
  exchange_fiat_differences: gauge("Open differences between providers' statements and the exchange's sessions."),
  exchange_fiat_claims_dollars: gauge(
    'Dollars that accounts owe by these differences: money that came back after a success.',
  ),
  exchange_settlement_healthy: gauge('1 while settlement is healthy enough for placing.'),
  exchange_settlement_node_connected: gauge('1 while the node answers and has the chain of the settings.'),
  exchange_settlement_node_well: gauge(
    '1 for a node of RPC_URL that answers, does not lag, and agrees with the others; absent if there is only one.',
    'node',
  ),
  exchange_settlement_node_differences_total: counter(
    "Answers of a node that differed from the other nodes' answers.",
    'node',
  ),
  exchange_settlement_waits_for_log: gauge(
    '1 while settlement waits until the log of the cluster takes its record; its other figures are old.',
  ),
  exchange_settlement_head_age_seconds: gauge("Age of the chain's newest block."),
  exchange_settlement_block: gauge(
    'Numbers of blocks of the chain: the newest, the newest final one, the last that was read, and compared.',
    'block',
  ),
  exchange_settlement_behind_records: gauge('Committed records of the journals that settlement has not read yet.'),
  exchange_settlement_work: gauge('Trades and movements that are not settled, by status.', 'status'),
  exchange_settlement_oldest_trade_seconds: gauge('How long the oldest trade has waited for its batch.'),
  exchange_settlement_oldest_work_seconds: gauge(
    'How long the oldest trade, movement, resolution or claim has waited.',
  ),
  exchange_settlement_move_seconds: gauge('How long the funds have been moving to another exchange contract.'),
  exchange_settlement_move_left: gauge('Work left for the old contract, which has to be done before its funds move.'),
  exchange_settlement_failed_trades: gauge('Trades that the contract refuses for good.'),
  exchange_settlement_failed_batches: gauge('Failed batches in a row: nothing of them was settled.'),
  exchange_settlement_foreign_nonces_total: counter(
    'Transactions that another program sent with a key of this exchange.',
  ),
  exchange_settlement_at_most_fee: gauge('1 while a transaction waits because gas costs more than MOST_FEE_GWEI.'),
  exchange_settlement_differences: gauge('Balances in which ledger and chain differ. Above 0, orders are refused.'),
  exchange_settlement_waiting: gauge(
    'Waiting: `deposit` without an account, movement without a `wallet`, refused `payment`, `bound` of an hour.',
    'for',
  ),
  exchange_settlement_decisions: gauge(
    'Decisions of markets on the chain: `wanted`, `proposed`, `decided`, or decided `otherwise` by another key.',
    'state',
  ),
  exchange_settlement_may_propose: gauge('0 while RESOLVER_KEY has no right to propose, as after a veto.'),
  exchange_settlement_foreign_proposals: gauge(
    'Proposals on the chain that the exchange did not make: to be vetoed, unless they were carried out.',
  ),
  exchange_settlement_balances_compared_total: counter('Balances that were compared between ledger and chain.'),
  exchange_settlement_key_balance: gauge("Balance of a key for gas, in the chain's own coin.", 'key'),
  exchange_settlement_key_low: gauge('1 while the balance of a key is below LOW_BALANCE_GWEI.', 'key'),
  // The exchange.
  exchange_ready: gauge('1 while `/ready` answers 200.'),
  exchange_starting_seconds: gauge('How long a start has gone on; 0 once requests are answered.'),
  exchange_paused: gauge('1 while placing is paused.'),
  exchange_stage: gauge('The stage of the platform: 0 open, 1 post-only, 2 cancel-only.'),
  exchange_markets_in_stage: gauge('Markets that are not decided, by stage.', 'stage'),
  exchange_alert_test: gauge('1 for two minutes after a test alert was requested.'),
  exchange_approvals_pending: gauge('Changes that wait for a second operator.'),
  exchange_audit_log_written: gauge('0 while the audit log cannot be written: administrators can change nothing.'),
  exchange_certificate_end_seconds: gauge(
    'When the served certificate expires, in seconds since 1970; absent if another program terminates TLS.',
  ),
  exchange_clock_trusted: gauge(
    '0 while correctly signed requests are refused for their time: windows of heartbeats stand still.',
  ),
  exchange_clock_set_back: gauge(
    '1 while requests signed by a right clock are refused: the clock of this machine was set back.',
  ),
  exchange_clock_seconds: gauge('The time of this machine, in seconds since 1970.'),
  exchange_clock_shifts_total: counter('How often the clock was moved by more than five seconds within a minute.'),
  exchange_clock_refused_accounts: gauge(
    'Accounts with funds that were refused for their time since the last signed request was accepted.',
  ),
  exchange_clock_clients_ahead_seconds: gauge(
    'How far clocks of clients are ahead of this one: the median of all accounts with a recent valid signature.',
  ),
  exchange_clock_clients: gauge('Accounts in the median of exchange_clock_clients_ahead_seconds.'),
  exchange_heartbeat_switches_armed: gauge('Accounts whose orders depend on heartbeats.'),
  exchange_heartbeat_switches_triggered_total: counter('Windows of switches that ended without a heartbeat.'),
  exchange_heartbeat_cancelled_orders_total: counter('Orders cancelled because a window ended without a heartbeat.'),
  // The process, under the names that Prometheus and its clients use.
  process_cpu_user_seconds_total: counter('Processor time of the process in its own code.'),
  process_cpu_system_seconds_total: counter('Processor time of the process in the kernel.'),
  process_cpu_seconds_total: counter('Processor time of the process.'),
  process_start_time_seconds: gauge('When the process started, in seconds since 1970.'),
  process_resident_memory_bytes: gauge('Memory of the process that is in RAM.'),
  process_virtual_memory_bytes: gauge('Address space of the process.'),
  process_heap_bytes: gauge('Data segment of the process.'),
  process_open_fds: gauge('Open file descriptors.'),
  process_max_fds: gauge('The most file descriptors that the process may have open.'),
  nodejs_eventloop_lag_seconds: gauge('How late a callback ran that the scrape has asked for.'),
  nodejs_eventloop_lag_min_seconds: gauge('The least delay of the event loop since the scrape before.'),
  nodejs_eventloop_lag_max_seconds: gauge('The longest delay of the event loop since the scrape before.'),
  nodejs_eventloop_lag_mean_seconds: gauge('The mean delay of the event loop since the scrape before.'),
  nodejs_eventloop_lag_stddev_seconds: gauge(
    'The standard deviation of the delays of the event loop since the scrape before.',
  ),
  nodejs_eventloop_lag_p50_seconds: gauge('The median delay of the event loop since the scrape before.'),
  nodejs_eventloop_lag_p90_seconds: gauge(
    'The 90th percentile of the delays of the event loop since the scrape before.',
  ),
  nodejs_eventloop_lag_p99_seconds: gauge(
    'The 99th percentile of the delays of the event loop since the scrape before.',
  ),
  nodejs_active_resources: gauge('What keeps the event loop alive, by kind.', 'type'),
  nodejs_active_handles: gauge('Handles of libuv that keep the event loop alive, by class.', 'type'),
  nodejs_active_requests: gauge('Requests of libuv under way, by class.', 'type'),
  nodejs_heap_size_total_bytes: gauge('Size of the heap of the gateway thread.'),
  nodejs_heap_size_used_bytes: gauge('Used part of the heap of the gateway thread.'),
  nodejs_external_memory_bytes: gauge('Memory outside of the heap that objects of the gateway thread own.'),
  nodejs_heap_space_size_total_bytes: gauge('Size of a space of the heap of the gateway thread.', 'space'),
  nodejs_heap_space_size_used_bytes: gauge('Used part of a space of the heap of the gateway thread.', 'space'),
  nodejs_heap_space_size_available_bytes: gauge('Free part of a space of the heap of the gateway thread.', 'space'),
  nodejs_version_info: gauge('The version of Node; always 1.', 'version', 'major', 'minor', 'patch'),
  nodejs_gc_duration_seconds: histogram(
    'Collections of garbage in the gateway thread, by kind: major, minor, incremental or weakcb.',
    'kind',
  ),
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof METRICS;
export type LabelsOf<N extends MetricName> = Readonly<Record<(typeof METRICS)[N]['labels'][number], string | number>>;
