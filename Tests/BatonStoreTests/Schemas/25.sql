CREATE INDEX condition_change_steady ON condition_change (steady);
CREATE INDEX coordinator_unsettled ON coordinator (is_ended) WHERE is_settled = 0;
CREATE INDEX definition_pattern ON definition (pattern);
CREATE INDEX dependency_awaited ON dependency (awaited);
CREATE INDEX host_gone ON host (coalesce(gone_at, 0)) WHERE incarnation IS NULL AND is_forgotten = 0;
CREATE INDEX identifier_standing ON identifier (id) WHERE paused_at IS NOT NULL OR backfill IS NOT NULL;
CREATE INDEX launch_of_host ON launch (host, started_at) WHERE ended_at - started_at >= 1000000000;
CREATE UNIQUE INDEX launch_open ON launch (request) WHERE ended_at IS NULL;
CREATE INDEX launch_open_on_host ON launch (host) WHERE ended_at IS NULL;
CREATE INDEX limit_key_due ON limit_key (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX notification_due ON notification (receiver, next_at) WHERE failed_at IS NULL;
CREATE INDEX notification_failed ON notification (failed_at) WHERE failed_at IS NOT NULL;
CREATE INDEX notification_since ON notification (since) WHERE failed_at IS NULL;
CREATE INDEX poke_request ON poke (request);
CREATE INDEX request_dated ON request (earliest_at) WHERE state = 0 AND cause = 0 AND is_dated = 1;
CREATE INDEX request_eligible ON request (eligible_at) WHERE state = 0;
CREATE INDEX request_ended_steady ON request (coalesce(ended_steady, ended_at)) WHERE ended_at IS NOT NULL;
CREATE INDEX request_flow ON request (flow) WHERE flow IS NOT NULL;
CREATE INDEX request_host ON request (host) WHERE host IS NOT NULL;
CREATE UNIQUE INDEX request_live ON request (identifier) WHERE launches > 0 AND state <= 2 AND head IS NULL;
CREATE UNIQUE INDEX request_number ON request (identifier, number, shard);
CREATE INDEX request_open_shard ON request (head) WHERE head IS NOT NULL AND state <= 2;
CREATE INDEX request_ready ON request (definition, priority) WHERE state = 1;
CREATE INDEX request_scheduled ON request (id) WHERE state = 0;
CREATE UNIQUE INDEX request_shard ON request (head, shard) WHERE head IS NOT NULL;
CREATE INDEX request_tell_at ON request (tell_at) WHERE tell_at IS NOT NULL AND launches = 0 AND state <= 1;
CREATE INDEX request_unsuccessful ON request (state) WHERE state >= 4;
CREATE UNIQUE INDEX request_waiting ON request (identifier) WHERE launches = 0 AND state <= 1 AND head IS NULL;
CREATE INDEX request_waits_on ON request (waits_on, definition, priority, id)
  WHERE state = 0 AND eligible_at = 9223372036854775806;
CREATE UNIQUE INDEX result_head ON result (head, shard);
CREATE INDEX transfer_place_host ON transfer_place (host);
CREATE TABLE audit (
  sequence INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  credential BLOB,
  peer TEXT NOT NULL,
  method TEXT NOT NULL,
  object TEXT NOT NULL,
  outcome TEXT NOT NULL,
  detail TEXT NOT NULL,
  previous BLOB NOT NULL CHECK (length(previous) = 32),
  hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;
CREATE TABLE audit_head (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  sequence INTEGER NOT NULL,  -- of the last row
  hash BLOB NOT NULL CHECK (length(hash) = 32),  -- of the last row
  kept INTEGER NOT NULL,  -- the first row that may not be deleted
  before BLOB NOT NULL CHECK (length(before) = 32)  -- the hash of the row before that one
) STRICT;
CREATE TABLE certificate (
  serial BLOB PRIMARY KEY,
  host TEXT NOT NULL,
  key BLOB NOT NULL CHECK (length(key) = 32),  -- SHA-256 of the public key
  der BLOB NOT NULL,
  ends_at INTEGER NOT NULL,
  is_revoked INTEGER NOT NULL DEFAULT 0 CHECK (is_revoked IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE TABLE clock (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  date INTEGER NOT NULL,
  steady INTEGER NOT NULL,
  boot TEXT NOT NULL,
  instant INTEGER NOT NULL
, steward INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE completion (  -- those before the present one, of requests that were retried
  request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
  launches INTEGER NOT NULL,
  state INTEGER NOT NULL CHECK (state BETWEEN 3 AND 5),
  reason TEXT,
  ended_at INTEGER NOT NULL, shards INTEGER,
  PRIMARY KEY (request, launches)
) STRICT, WITHOUT ROWID;
CREATE TABLE condition_change (
  host INTEGER NOT NULL REFERENCES host (id),
  number INTEGER NOT NULL CHECK (number >= 1),  -- 1, 2 … for each host
  at INTEGER NOT NULL,
  steady INTEGER NOT NULL,
  condition TEXT NOT NULL,
  value TEXT,  -- null: unknown
  source TEXT NOT NULL,
  raw TEXT NOT NULL,
  PRIMARY KEY (host, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE coordinator (
  epoch INTEGER PRIMARY KEY,  -- 1, 2 … in the order of their starts
  tenure INTEGER NOT NULL UNIQUE,  -- drawn: a copy of the store that is started has another
  address TEXT NOT NULL,
  beat INTEGER NOT NULL DEFAULT 0,  -- raised each second while others can have the store open too
  commits INTEGER NOT NULL CHECK (commits >= 0),  -- begins with the highest number of those before
  pending INTEGER NOT NULL DEFAULT 0,  -- the sum of scheduled and ready in its shares
  is_ended INTEGER NOT NULL DEFAULT 0 CHECK (is_ended IN (0, 1)),
  is_settled INTEGER NOT NULL DEFAULT 0 CHECK (is_settled <= is_ended)  -- another one has its shares
, name TEXT NOT NULL DEFAULT '', version TEXT NOT NULL DEFAULT '', operators TEXT, https TEXT, ended_at INTEGER, namespaces TEXT) STRICT;
CREATE TABLE credential (
  id BLOB PRIMARY KEY CHECK (length(id) = 8),
  name TEXT NOT NULL,
  digest BLOB NOT NULL CHECK (length(digest) = 32),  -- SHA-256 of the secret
  scopes TEXT NOT NULL,  -- with commas between them
  patterns TEXT NOT NULL,  -- with commas between them; empty means every identifier
  ends_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  used_at INTEGER,
  is_revoked INTEGER NOT NULL DEFAULT 0 CHECK (is_revoked IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE TABLE definition (
  id INTEGER PRIMARY KEY,
  pattern INTEGER NOT NULL REFERENCES pattern (id),
  content TEXT NOT NULL UNIQUE  -- canonical JSON: equal definitions are one row
) STRICT;
CREATE TABLE definition_version (
  pattern INTEGER NOT NULL REFERENCES pattern (id),
  number INTEGER NOT NULL CHECK (number >= 1),  -- 1, 2 … for each pattern
  definition INTEGER NOT NULL REFERENCES definition (id),
  applied_at INTEGER NOT NULL,
  applied_by TEXT NOT NULL,  -- empty: not known
  PRIMARY KEY (pattern, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE dependency (
  request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
  awaited INTEGER NOT NULL,  -- it may not be kept any more
  ending INTEGER NOT NULL CHECK (ending BETWEEN 0 AND 2),
  state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2),
  trace_id BLOB NOT NULL CHECK (length(trace_id) = 16),  -- of the one that is awaited
  span_id BLOB NOT NULL CHECK (length(span_id) = 8), position INTEGER NOT NULL DEFAULT 0 CHECK (position >= 0), ended_as INTEGER CHECK (ended_as BETWEEN 3 AND 5),
  PRIMARY KEY (request, awaited),
  CHECK (request <> awaited)
) STRICT, WITHOUT ROWID;
CREATE TABLE event (
  request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  at INTEGER NOT NULL,
  name TEXT NOT NULL,
  detail TEXT, phase INTEGER,
  PRIMARY KEY (request, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE eviction (
  host INTEGER NOT NULL REFERENCES host (id),
  pattern TEXT NOT NULL,
  PRIMARY KEY (host, pattern)
) STRICT, WITHOUT ROWID;
CREATE TABLE host (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  incarnation TEXT,  -- that holds the lease
  is_draining INTEGER NOT NULL DEFAULT 0 CHECK (is_draining IN (0, 1)),
  last_seen_at INTEGER NOT NULL
, use_day INTEGER NOT NULL DEFAULT 0, used INTEGER NOT NULL DEFAULT 0 CHECK (used >= 0), word TEXT, secret BLOB CHECK (length(secret) = 32), owner INTEGER, lease INTEGER NOT NULL DEFAULT 0, link INTEGER, gone_at INTEGER, is_forgotten INTEGER NOT NULL DEFAULT 0 CHECK (is_forgotten IN (0, 1)), changes INTEGER NOT NULL DEFAULT 0 CHECK (changes >= 0)) STRICT;
CREATE TABLE identifier (  -- kept for ever: numbers of requests never come again
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK (length(CAST(name AS BLOB)) <= 255),
  last_number INTEGER NOT NULL CHECK (last_number >= 0),
  last_first_launch_at INTEGER  -- of refresh jobs, for their spacing
, no_data_in_row INTEGER NOT NULL DEFAULT 0 CHECK (no_data_in_row >= 0), anchor_at INTEGER, anchor_is_dated INTEGER
  CHECK ((anchor_is_dated IS NULL) = (anchor_at IS NULL)) CHECK (anchor_is_dated BETWEEN 0 AND 1), usual_interval INTEGER CHECK (usual_interval >= 0), paused_at INTEGER, paused_by TEXT CHECK ((paused_by IS NULL) = (paused_at IS NULL)), paused_because TEXT CHECK ((paused_because IS NULL) = (paused_at IS NULL)), backfill TEXT) STRICT;
CREATE TABLE invitation (
  id BLOB PRIMARY KEY CHECK (length(id) = 8),
  host TEXT NOT NULL,
  digest BLOB NOT NULL CHECK (length(digest) = 32),  -- SHA-256 of the secret
  ends_at INTEGER NOT NULL,
  principal TEXT NOT NULL,  -- who invited the host
  serial BLOB,  -- the certificate that the host got; null until it has joined
  joined_at INTEGER, needs_approval INTEGER NOT NULL DEFAULT 0 CHECK (needs_approval IN (0, 1)), approved_key BLOB CHECK (length(approved_key) = 32),
  CHECK ((serial IS NULL) = (joined_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE item_page (
  id INTEGER PRIMARY KEY,
  request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
  start INTEGER NOT NULL CHECK (start >= 0),
  count INTEGER NOT NULL CHECK (count BETWEEN 0 AND 1000),
  launch INTEGER NOT NULL,
  bytes BLOB NOT NULL, bytes_so_far INTEGER NOT NULL DEFAULT 0,
  UNIQUE (request, start)
) STRICT;
CREATE TABLE joining (
  request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
  position INTEGER NOT NULL CHECK (position >= 1),  -- from 1; only the last ones are kept
  poke TEXT,  -- the client's id; null for a submission that replaced another one
  trace_id BLOB CHECK (length(trace_id) = 16),  -- of the submitter's span; null if it had none
  span_id BLOB CHECK (length(span_id) = 8),
  PRIMARY KEY (request, position),
  CHECK ((trace_id IS NULL) = (span_id IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE launch (
  request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
  number INTEGER NOT NULL CHECK (number >= 1),
  host INTEGER NOT NULL REFERENCES host (id),
  incarnation TEXT NOT NULL,
  gpus TEXT NOT NULL,
  span_id BLOB NOT NULL CHECK (length(span_id) = 8),
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  -- Not `IN`, which builds a table each time it is checked.
  outcome TEXT CHECK (outcome = 'finished' OR outcome = 'failed' OR outcome = 'expired' OR outcome = 'lost'),
  reason TEXT,
  is_graceful INTEGER NOT NULL DEFAULT 1 CHECK (is_graceful IN (0, 1)),
  first_batch INTEGER NOT NULL CHECK (first_batch >= 0),
  batches INTEGER NOT NULL DEFAULT 0 CHECK (batches >= 0),  -- written when it ends
  expiring_reason TEXT,
  expiring_detail TEXT,
  expiring_since INTEGER, started_steady INTEGER NOT NULL DEFAULT 0, is_simulated INTEGER NOT NULL DEFAULT 0 CHECK (is_simulated BETWEEN 0 AND 1), ready_at INTEGER, held_by INTEGER CHECK (held_by BETWEEN 0 AND 3), obstacles TEXT, error_type TEXT, definition INTEGER, shown TEXT,
  PRIMARY KEY (request, number),
  CHECK ((ended_at IS NULL) = (outcome IS NULL)),
  CHECK ((expiring_reason IS NULL) = (expiring_since IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE limit_key (
  name TEXT NOT NULL PRIMARY KEY,
  running INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),  -- of a concurrency: its launches
  full_at INTEGER NOT NULL DEFAULT 0,  -- of a rate: when the bucket is full again
  due_at INTEGER,  -- when to look whether a request that waits may start; null: nothing but an end lets one start
  set_limit INTEGER CHECK (set_limit >= 1),  -- what a person has set; null: the definitions say it
  set_per INTEGER CHECK (set_per >= 1),
  set_burst INTEGER CHECK (set_burst >= 1),
  last_limit INTEGER CHECK (last_limit >= 1),  -- what has limited the last launch
  last_per INTEGER CHECK (last_per >= 1),
  last_burst INTEGER CHECK (last_burst >= 1),
  CHECK (set_limit IS NOT NULL OR set_per IS NULL),
  CHECK ((set_per IS NULL) = (set_burst IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE limit_line (
  name TEXT NOT NULL,  -- requests of this class may wait for this key
  definition INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  PRIMARY KEY (name, definition, priority)
) STRICT, WITHOUT ROWID;
CREATE TABLE namespace_share (
  namespace TEXT NOT NULL,  -- the prefix; empty for what belongs to no namespace
  coordinator INTEGER NOT NULL,
  pending INTEGER NOT NULL,
  running INTEGER NOT NULL,
  slots INTEGER NOT NULL,  -- of the launches that run
  gpus INTEGER NOT NULL,
  use_day INTEGER NOT NULL,  -- days since 1970, on the steady clock
  used INTEGER NOT NULL CHECK (used >= 0),  -- nanoseconds of launches on that day
  served INTEGER NOT NULL CHECK (served >= 0),  -- slot-milliseconds of ended launches, as they count at served_at
  served_at INTEGER NOT NULL,  -- steady clock
  PRIMARY KEY (namespace, coordinator)
) STRICT, WITHOUT ROWID;
CREATE TABLE notification (
  subject INTEGER NOT NULL,  -- the request, or minus the number of a host
  position INTEGER NOT NULL CHECK (position >= 1),  -- among those of the subject; of a host, its lease
  receiver TEXT NOT NULL,
  id TEXT NOT NULL,  -- the same in each attempt
  content TEXT NOT NULL,  -- JobNotification as JSON
  at INTEGER NOT NULL,
  since INTEGER NOT NULL,  -- the same time on the steady clock
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  next_at INTEGER NOT NULL,  -- when to try again, on the steady clock
  error TEXT,  -- of the last attempt
  failed_at INTEGER,  -- on the steady clock; null while it waits
  PRIMARY KEY (subject, position, receiver),
  CHECK (failed_at IS NULL OR error IS NOT NULL)
) STRICT;
CREATE TABLE output (
  request INTEGER NOT NULL,
  launch INTEGER NOT NULL,
  start INTEGER NOT NULL,
  bytes BLOB NOT NULL, taken_at INTEGER,
  PRIMARY KEY (request, launch, start),
  FOREIGN KEY (request, launch) REFERENCES launch (request, number) ON DELETE CASCADE
) STRICT;
CREATE TABLE pattern (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  definition INTEGER REFERENCES definition (id),  -- the applied one; null after remove
  applied_at INTEGER,
  usual_batch INTEGER CHECK (usual_batch >= 0), used_at INTEGER, retention INTEGER CHECK (retention >= 0),
  CHECK ((definition IS NULL) = (applied_at IS NULL))
) STRICT;
CREATE TABLE payload (
  request INTEGER PRIMARY KEY REFERENCES request (id) ON DELETE CASCADE,
  bytes BLOB NOT NULL CHECK (length(bytes) <= 65536)
) STRICT;
CREATE TABLE poke (  -- goes with its submission's id
  submission INTEGER PRIMARY KEY REFERENCES submission (id) ON DELETE CASCADE,
  request INTEGER NOT NULL,  -- that it asked for or joined; perhaps not kept any more
  at INTEGER NOT NULL,
  priority INTEGER NOT NULL CHECK (priority = 5 OR priority = 10),
  principal TEXT NOT NULL
) STRICT;
CREATE TABLE progress (
  request INTEGER PRIMARY KEY REFERENCES request (id) ON DELETE CASCADE,
  batches INTEGER NOT NULL CHECK (batches >= 0),
  completed_units INTEGER NOT NULL,
  total_units INTEGER,
  reaches_end INTEGER NOT NULL CHECK (reaches_end IN (0, 1)),
  subtitle TEXT,
  cursor BLOB
, skipped TEXT, skipped_units INTEGER NOT NULL DEFAULT 0 CHECK (skipped_units >= 0)) STRICT;
CREATE TABLE rejected_span (  -- a backend will not have them
  request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
  launch INTEGER NOT NULL,
  parts INTEGER NOT NULL,
  at INTEGER NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (request, launch, parts)
) STRICT, WITHOUT ROWID;
CREATE TABLE request (
  id INTEGER PRIMARY KEY,
  identifier INTEGER NOT NULL REFERENCES identifier (id),
  number INTEGER NOT NULL CHECK (number >= 1),
  definition INTEGER NOT NULL REFERENCES definition (id),
  priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 5),
  cause INTEGER CHECK (cause BETWEEN 0 AND 3),
  eligible_at INTEGER NOT NULL,
  earliest_at INTEGER NOT NULL,
  submitted_at INTEGER NOT NULL,
  principal TEXT NOT NULL,
  launches INTEGER NOT NULL DEFAULT 0 CHECK (launches >= 0),
  host INTEGER,  -- of the last launch, which has the foreign key: a second one costs every start a savepoint
  started_at INTEGER,
  ended_at INTEGER,
  outcome TEXT,
  reason TEXT,
  failures INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
  losses INTEGER NOT NULL DEFAULT 0 CHECK (losses >= 0),
  strikes INTEGER NOT NULL DEFAULT 0 CHECK (strikes >= 0),
  cancelled_by TEXT,
  frozen_items INTEGER CHECK (frozen_items >= 0),
  trace_id BLOB NOT NULL CHECK (length(trace_id) = 16),
  span_id BLOB NOT NULL CHECK (length(span_id) = 8),
  is_sampled INTEGER NOT NULL CHECK (is_sampled IN (0, 1)),
  parent_span_id BLOB, is_dated INTEGER NOT NULL DEFAULT 0 CHECK (is_dated BETWEEN 0 AND 1), poke INTEGER CHECK (poke = 5 OR poke = 10), ready_at INTEGER, held_by INTEGER CHECK (held_by BETWEEN 0 AND 3), submitted_as INTEGER, obstacles TEXT, ended_steady INTEGER, head INTEGER REFERENCES request (id) ON DELETE CASCADE, shard INTEGER NOT NULL DEFAULT 0 CHECK ((shard > 0) = (head IS NOT NULL)), first_unit INTEGER CHECK (first_unit >= 0), end_unit INTEGER CHECK (end_unit >= first_unit), shard_state INTEGER  -- how the request's own shard ended
  CHECK (shard_state IS NULL OR state = 0 OR state >= 3) CHECK (shard_state BETWEEN 3 AND 5), files_on INTEGER, barren_failures INTEGER NOT NULL DEFAULT 0 CHECK (barren_failures >= 0), followed INTEGER NOT NULL DEFAULT 0 CHECK (followed >= 0), flow INTEGER, waits_for INTEGER NOT NULL DEFAULT 0 CHECK (waits_for >= 0), is_awaited INTEGER NOT NULL DEFAULT 0 CHECK (is_awaited IN (0, 1)), scheduled_at INTEGER, backfill INTEGER NOT NULL DEFAULT 0 CHECK (backfill BETWEEN 0 AND 2), notified INTEGER NOT NULL DEFAULT 0 CHECK (notified >= 0), tell_at INTEGER, waits_on TEXT,
  CHECK ((state = 0) = (cause IS NOT NULL)),
  CHECK ((state >= 3) = (ended_at IS NOT NULL)),
  CHECK ((launches > 0) = (host IS NOT NULL AND started_at IS NOT NULL)),
  CHECK (state <> 2 OR launches > 0),
  CHECK (cause <> 3 OR launches = 0)
) STRICT;
CREATE TABLE result (
  request INTEGER PRIMARY KEY REFERENCES request (id) ON DELETE CASCADE,
  head INTEGER NOT NULL,  -- the request of which `request` is a shard, or the request itself
  shard INTEGER NOT NULL CHECK (shard >= 0),
  bytes BLOB NOT NULL CHECK (length(bytes) BETWEEN 1 AND 65536)
) STRICT;
CREATE TABLE share (
  pattern INTEGER NOT NULL REFERENCES pattern (id),
  coordinator INTEGER NOT NULL,
  scheduled INTEGER NOT NULL,
  ready INTEGER NOT NULL,
  running INTEGER NOT NULL,
  succeeded INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  use_day INTEGER NOT NULL,  -- days since 1970, on the steady clock
  used INTEGER NOT NULL CHECK (used >= 0),  -- nanoseconds of that day
  PRIMARY KEY (pattern, coordinator)
) STRICT, WITHOUT ROWID;
CREATE TABLE spread (
  request INTEGER PRIMARY KEY REFERENCES request (id) ON DELETE CASCADE,
  lanes INTEGER NOT NULL CHECK (lanes >= 1),
  shards INTEGER NOT NULL CHECK (shards >= 0),  -- made so far
  open INTEGER NOT NULL CHECK (open BETWEEN 0 AND shards),  -- not ended
  parked INTEGER NOT NULL CHECK (parked BETWEEN 0 AND open),  -- of these, without a lane
  running INTEGER NOT NULL CHECK (running BETWEEN 0 AND open),  -- of these, with an open launch
  launches INTEGER NOT NULL CHECK (launches >= 0),  -- of all shards
  failed INTEGER NOT NULL CHECK (failed >= 0),
  cancelled INTEGER NOT NULL CHECK (cancelled >= 0),
  next_unit INTEGER NOT NULL CHECK (next_unit >= 0),  -- where the next shard begins
  end_unit INTEGER CHECK (end_unit >= next_unit),  -- null until it is known how much there is
  size INTEGER NOT NULL CHECK (size >= 1),  -- of the next shard
  is_stopping INTEGER NOT NULL DEFAULT 0 CHECK (is_stopping IN (0, 1)),  -- no shard is made any more
  is_cancelled INTEGER NOT NULL DEFAULT 0 CHECK (is_cancelled <= is_stopping),  -- a person has cancelled the request
  failed_shards TEXT,  -- their numbers with commas between, the first ones
  failure TEXT  -- why the first one failed
) STRICT;
CREATE TABLE store (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  incarnation TEXT NOT NULL,
  is_paused INTEGER NOT NULL DEFAULT 0 CHECK (is_paused IN (0, 1)),
  next_request INTEGER NOT NULL DEFAULT 1 CHECK (next_request >= 1)
, former_incarnation TEXT, steward INTEGER, definitions_version INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE submission (  -- outlives its request: a retry gets the answer that was given
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 64),
  at INTEGER NOT NULL,
  request INTEGER NOT NULL,
  identifier INTEGER NOT NULL REFERENCES identifier (id),
  number INTEGER NOT NULL,
  definition INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  state INTEGER NOT NULL,
  eligible_at INTEGER NOT NULL,
  replaced INTEGER NOT NULL
) STRICT;
CREATE TABLE transfer (
  request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
  number INTEGER NOT NULL CHECK (number >= 0),  -- from 0
  content TEXT NOT NULL,  -- JSON
  part TEXT NOT NULL,  -- its group
  state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
  status TEXT,  -- JSON: how it ended
  ended_on INTEGER,  -- the host that had it then
  is_cancelling INTEGER NOT NULL DEFAULT 0 CHECK (is_cancelling IN (0, 1)),
  told INTEGER,  -- the last launch that was told of the end
  first_told INTEGER,  -- the first one, which its end started
  is_acknowledged INTEGER NOT NULL DEFAULT 0 CHECK (is_acknowledged IN (0, 1)),
  PRIMARY KEY (request, number),
  CHECK ((state = 0) = (status IS NULL)),
  CHECK ((state = 0) = (ended_on IS NULL)),
  CHECK (told IS NULL OR state > 0),
  CHECK ((told IS NULL) = (first_told IS NULL)),
  CHECK (is_acknowledged = 0 OR told IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE TABLE transfer_place (
  request INTEGER PRIMARY KEY,
  host INTEGER NOT NULL,
  launches INTEGER NOT NULL DEFAULT 0 CHECK (launches >= 0),  -- that its transfers asked for since it was quiet
  last_at INTEGER  -- when the last of these was due; steady clock
) STRICT;
CREATE TABLE unsent_span (
  request INTEGER NOT NULL,
  launch INTEGER NOT NULL,  -- launches of the request until then
  parts INTEGER NOT NULL CHECK (parts > 0),  -- SpanParts
  PRIMARY KEY (request, launch, parts)
) STRICT, WITHOUT ROWID;
CREATE TABLE waiting_host (
  invitation BLOB NOT NULL,
  key BLOB NOT NULL CHECK (length(key) = 32),
  number TEXT NOT NULL,
  peer TEXT NOT NULL,
  asked_at INTEGER NOT NULL,  -- steady clock
  PRIMARY KEY (invitation, key)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
  BEGIN SELECT RAISE(ABORT, 'a row of the audit log is never changed'); END;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
  WHEN OLD.sequence >= (SELECT kept FROM audit_head)
  BEGIN SELECT RAISE(ABORT, 'a row of the audit log is deleted only after its time'); END;
