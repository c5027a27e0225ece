/// The schema of a store in PostgreSQL: what the migrations of SQLite make, in one go. `PostgresStoreTests` compares
/// the columns of both.
///
/// - The columns of a table come in SQLite's order, and have its types: INTEGER is bigint, also for truth values; BLOB
///   is bytea; TEXT is text that is compared byte by byte.
/// - Rows that change often have no foreign keys, because six checks for each job cost half of its time. What SQLite
///   deletes with a request, a trigger for each statement deletes here. Foreign keys between other tables are deferred,
///   because a group stores its rows in an order of its own.
/// - An index that is read in the order of ids ends with the id, which SQLite appends by itself.
/// - Numbers of rows come from sequences. The column `store.next_request` is not used here.
enum PostgresSchema {
  /// The version of this schema. A coordinator opens a store of this version; of an earlier one, which it upgrades; and
  /// of a later one that says that this version may write (`PostgresMigrations`).
  static let version = upgrades.count + 1

  /// The earliest version whose coordinators may write into a store of this version.
  static let oldestWriter = version

  /// What makes each version out of the one before, from version 2 on. Each step changes one table and is a transaction
  /// of its own, which may run twice. Steps may only be appended: a database that has run one does not run it again. A
  /// coordinator of an earlier version that is running goes on with the new tables.
  static let upgrades = [
    [
      """
      ALTER TABLE coordinator
        ADD COLUMN IF NOT EXISTS name text COLLATE "C" NOT NULL DEFAULT '',
        ADD COLUMN IF NOT EXISTS version text COLLATE "C" NOT NULL DEFAULT '',
        ADD COLUMN IF NOT EXISTS operators text COLLATE "C",
        ADD COLUMN IF NOT EXISTS https text COLLATE "C",
        ADD COLUMN IF NOT EXISTS ended_at bigint
      """,
      "ALTER TABLE launch ADD COLUMN IF NOT EXISTS shown text COLLATE \"C\"",
      """
      CREATE TABLE IF NOT EXISTS waiting_host (
        invitation bytea NOT NULL,
        key bytea NOT NULL CHECK (length(key) = 32),
        number text COLLATE "C" NOT NULL,
        peer text COLLATE "C" NOT NULL,
        asked_at bigint NOT NULL,
        PRIMARY KEY (invitation, key)
      )
      """,
    ],
    [
      "ALTER TABLE request ADD COLUMN IF NOT EXISTS ended_steady bigint",
      """
      CREATE INDEX IF NOT EXISTS request_ended_steady ON request (coalesce(ended_steady, ended_at), id)
        WHERE ended_at IS NOT NULL
      """,
      "DROP INDEX IF EXISTS request_ended",
    ],
    // Shards of requests. An earlier version would take a shard for a request, so it may not write any more.
    [
      """
      ALTER TABLE request
        ADD COLUMN IF NOT EXISTS head bigint,
        ADD COLUMN IF NOT EXISTS shard bigint NOT NULL DEFAULT 0 CHECK ((shard > 0) = (head IS NOT NULL)),
        ADD COLUMN IF NOT EXISTS first_unit bigint CHECK (first_unit >= 0),
        ADD COLUMN IF NOT EXISTS end_unit bigint CHECK (end_unit >= first_unit),
        ADD COLUMN IF NOT EXISTS shard_state bigint
          CHECK (shard_state IS NULL OR state = 0 OR state >= 3) CHECK (shard_state BETWEEN 3 AND 5)
      """,
      """
      DROP INDEX IF EXISTS request_number;
      CREATE UNIQUE INDEX request_number ON request (identifier, number, shard)
      """,
      """
      DROP INDEX IF EXISTS request_waiting;
      CREATE UNIQUE INDEX request_waiting ON request (identifier) WHERE launches = 0 AND state <= 1 AND head IS NULL
      """,
      """
      DROP INDEX IF EXISTS request_live;
      CREATE UNIQUE INDEX request_live ON request (identifier) WHERE launches > 0 AND state <= 2 AND head IS NULL
      """,
      "CREATE UNIQUE INDEX IF NOT EXISTS request_shard ON request (head, shard) WHERE head IS NOT NULL",
      "CREATE INDEX IF NOT EXISTS request_open_shard ON request (head, id) WHERE head IS NOT NULL AND state <= 2",
      """
      CREATE TABLE IF NOT EXISTS spread (
        request bigint PRIMARY KEY,
        lanes bigint NOT NULL CHECK (lanes >= 1),
        shards bigint NOT NULL CHECK (shards >= 0),
        open bigint NOT NULL CHECK (open BETWEEN 0 AND shards),
        parked bigint NOT NULL CHECK (parked BETWEEN 0 AND open),
        running bigint NOT NULL CHECK (running BETWEEN 0 AND open),
        launches bigint NOT NULL CHECK (launches >= 0),
        failed bigint NOT NULL CHECK (failed >= 0),
        cancelled bigint NOT NULL CHECK (cancelled >= 0),
        next_unit bigint NOT NULL CHECK (next_unit >= 0),
        end_unit bigint CHECK (end_unit >= next_unit),
        size bigint NOT NULL CHECK (size >= 1),
        is_stopping bigint NOT NULL DEFAULT 0 CHECK (is_stopping IN (0, 1)),
        is_cancelled bigint NOT NULL DEFAULT 0 CHECK (is_cancelled <= is_stopping),
        failed_shards text COLLATE "C",
        failure text COLLATE "C"
      ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05)
      """,
      "ALTER TABLE completion ADD COLUMN IF NOT EXISTS shards bigint",
      // A trigger for a statement fires again for the shards, and then for no row at all.
      """
      CREATE OR REPLACE FUNCTION delete_belongings_of_requests() RETURNS trigger
        LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
        DELETE FROM launch USING gone WHERE launch.request = gone.id;
        DELETE FROM progress USING gone WHERE progress.request = gone.id;
        DELETE FROM payload USING gone WHERE payload.request = gone.id;
        DELETE FROM event USING gone WHERE event.request = gone.id;
        DELETE FROM completion USING gone WHERE completion.request = gone.id;
        DELETE FROM joining USING gone WHERE joining.request = gone.id;
        DELETE FROM item_page USING gone WHERE item_page.request = gone.id;
        DELETE FROM output USING gone WHERE output.request = gone.id;
        DELETE FROM rejected_span USING gone WHERE rejected_span.request = gone.id;
        DELETE FROM spread USING gone WHERE spread.request = gone.id;
        IF EXISTS (SELECT 1 FROM request JOIN gone ON request.head = gone.id) THEN
          DELETE FROM request USING gone WHERE request.head = gone.id;
        END IF;
        RETURN NULL;
      END $$
      """,
    ],
    // Histories of hosts and versions of definitions. An earlier version leaves them alone.
    [
      """
      ALTER TABLE host
        ADD COLUMN IF NOT EXISTS gone_at bigint,
        ADD COLUMN IF NOT EXISTS is_forgotten bigint NOT NULL DEFAULT 0 CHECK (is_forgotten IN (0, 1)),
        ADD COLUMN IF NOT EXISTS changes bigint NOT NULL DEFAULT 0 CHECK (changes >= 0)
      """,
      """
      CREATE INDEX IF NOT EXISTS host_gone ON host (coalesce(gone_at, 0))
        WHERE incarnation IS NULL AND is_forgotten = 0
      """,
      """
      CREATE TABLE IF NOT EXISTS condition_change (
        host bigint NOT NULL,
        number bigint NOT NULL CHECK (number >= 1),
        at bigint NOT NULL,
        steady bigint NOT NULL,
        condition text COLLATE "C" NOT NULL,
        value text COLLATE "C",
        source text COLLATE "C" NOT NULL,
        raw text COLLATE "C" NOT NULL,
        PRIMARY KEY (host, number)
      ) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05)
      """,
      "CREATE INDEX IF NOT EXISTS condition_change_steady ON condition_change (steady)",
      """
      CREATE INDEX IF NOT EXISTS launch_of_host ON launch (host, started_at)
        WHERE ended_at - started_at >= 1000000000
      """,
      "ALTER TABLE pattern ADD COLUMN IF NOT EXISTS retention bigint CHECK (retention >= 0)",
      """
      CREATE TABLE IF NOT EXISTS definition_version (
        pattern bigint NOT NULL,
        number bigint NOT NULL CHECK (number >= 1),
        definition bigint NOT NULL,
        applied_at bigint NOT NULL,
        applied_by text COLLATE "C" NOT NULL,
        PRIMARY KEY (pattern, number)
      )
      """,
      """
      INSERT INTO definition_version SELECT id, 1, definition, applied_at, '' FROM pattern
        WHERE definition IS NOT NULL ON CONFLICT DO NOTHING
      """,
    ],
    ["ALTER TABLE output ADD COLUMN IF NOT EXISTS taken_at bigint"],
    // Namespaces. What an earlier version writes meanwhile is counted when its coordinator ends.
    [
      """
      CREATE TABLE IF NOT EXISTS namespace_share (
        namespace text COLLATE "C" NOT NULL,
        coordinator bigint NOT NULL,
        pending bigint NOT NULL,
        running bigint NOT NULL,
        slots bigint NOT NULL,
        gpus bigint NOT NULL,
        use_day bigint NOT NULL,
        used bigint NOT NULL CHECK (used >= 0),
        served bigint NOT NULL CHECK (served >= 0),
        served_at bigint NOT NULL,
        PRIMARY KEY (namespace, coordinator)
      ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05)
      """,
      "ALTER TABLE coordinator ADD COLUMN IF NOT EXISTS namespaces text COLLATE \"C\"",
    ],
    // Transfers. An earlier version would start a launch before its files are there, so it may not write any more.
    [
      "ALTER TABLE request ADD COLUMN IF NOT EXISTS files_on bigint",
      """
      CREATE TABLE IF NOT EXISTS transfer_place (
        request bigint PRIMARY KEY,
        host bigint NOT NULL,
        launches bigint NOT NULL DEFAULT 0 CHECK (launches >= 0),
        last_at bigint
      ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05)
      """,
      "CREATE INDEX IF NOT EXISTS transfer_place_host ON transfer_place (host, request)",
      """
      CREATE TABLE IF NOT EXISTS transfer (
        request bigint NOT NULL,
        number bigint NOT NULL CHECK (number >= 0),
        content text COLLATE "C" NOT NULL,
        part text COLLATE "C" NOT NULL,
        state bigint NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
        status text COLLATE "C",
        ended_on bigint,
        is_cancelling bigint NOT NULL DEFAULT 0 CHECK (is_cancelling IN (0, 1)),
        told bigint,
        first_told bigint,
        is_acknowledged bigint NOT NULL DEFAULT 0 CHECK (is_acknowledged IN (0, 1)),
        PRIMARY KEY (request, number),
        CHECK ((state = 0) = (status IS NULL)),
        CHECK ((state = 0) = (ended_on IS NULL)),
        CHECK (told IS NULL OR state > 0),
        CHECK ((told IS NULL) = (first_told IS NULL)),
        CHECK (is_acknowledged = 0 OR told IS NOT NULL)
      ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05)
      """,
      """
      CREATE OR REPLACE FUNCTION delete_belongings_of_requests() RETURNS trigger
        LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
        DELETE FROM launch USING gone WHERE launch.request = gone.id;
        DELETE FROM progress USING gone WHERE progress.request = gone.id;
        DELETE FROM payload USING gone WHERE payload.request = gone.id;
        DELETE FROM event USING gone WHERE event.request = gone.id;
        DELETE FROM completion USING gone WHERE completion.request = gone.id;
        DELETE FROM joining USING gone WHERE joining.request = gone.id;
        DELETE FROM item_page USING gone WHERE item_page.request = gone.id;
        DELETE FROM output USING gone WHERE output.request = gone.id;
        DELETE FROM rejected_span USING gone WHERE rejected_span.request = gone.id;
        DELETE FROM spread USING gone WHERE spread.request = gone.id;
        DELETE FROM transfer USING gone WHERE transfer.request = gone.id;
        IF EXISTS (SELECT 1 FROM request JOIN gone ON request.head = gone.id) THEN
          DELETE FROM request USING gone WHERE request.head = gone.id;
        END IF;
        RETURN NULL;
      END $$
      """,
    ],
    [
      """
      ALTER TABLE request
        ADD COLUMN IF NOT EXISTS barren_failures bigint NOT NULL DEFAULT 0 CHECK (barren_failures >= 0),
        ADD COLUMN IF NOT EXISTS followed bigint NOT NULL DEFAULT 0 CHECK (followed >= 0)
      """
    ],
    // Flows. An earlier version would not tell those that wait for the end of a request, so it may not write any more.
    [
      """
      ALTER TABLE request
        ADD COLUMN IF NOT EXISTS flow bigint,
        ADD COLUMN IF NOT EXISTS waits_for bigint NOT NULL DEFAULT 0 CHECK (waits_for >= 0),
        ADD COLUMN IF NOT EXISTS is_awaited bigint NOT NULL DEFAULT 0 CHECK (is_awaited IN (0, 1))
      """,
      "CREATE INDEX IF NOT EXISTS request_flow ON request (flow) WHERE flow IS NOT NULL",
      """
      CREATE TABLE IF NOT EXISTS dependency (
        request bigint NOT NULL,
        awaited bigint NOT NULL,
        ending bigint NOT NULL CHECK (ending BETWEEN 0 AND 2),
        state bigint NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2),
        trace_id bytea NOT NULL CHECK (length(trace_id) = 16),
        span_id bytea NOT NULL CHECK (length(span_id) = 8),
        PRIMARY KEY (request, awaited),
        CHECK (request <> awaited)
      ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05)
      """,
      "CREATE INDEX IF NOT EXISTS dependency_awaited ON dependency (awaited)",
      """
      CREATE OR REPLACE FUNCTION delete_belongings_of_requests() RETURNS trigger
        LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
        DELETE FROM launch USING gone WHERE launch.request = gone.id;
        DELETE FROM progress USING gone WHERE progress.request = gone.id;
        DELETE FROM payload USING gone WHERE payload.request = gone.id;
        DELETE FROM event USING gone WHERE event.request = gone.id;
        DELETE FROM completion USING gone WHERE completion.request = gone.id;
        DELETE FROM joining USING gone WHERE joining.request = gone.id;
        DELETE FROM item_page USING gone WHERE item_page.request = gone.id;
        DELETE FROM output USING gone WHERE output.request = gone.id;
        DELETE FROM rejected_span USING gone WHERE rejected_span.request = gone.id;
        DELETE FROM spread USING gone WHERE spread.request = gone.id;
        DELETE FROM transfer USING gone WHERE transfer.request = gone.id;
        DELETE FROM dependency USING gone WHERE dependency.request = gone.id;
        IF EXISTS (SELECT 1 FROM request JOIN gone ON request.head = gone.id) THEN
          DELETE FROM request USING gone WHERE request.head = gone.id;
        END IF;
        RETURN NULL;
      END $$
      """,
    ],
    // Paused schedules and backfills. A coordinator of an earlier version goes on with the times of a paused schedule,
    // and ends a backfill's row of requests.
    [
      """
      ALTER TABLE identifier
        ADD COLUMN IF NOT EXISTS paused_at bigint,
        ADD COLUMN IF NOT EXISTS paused_by text COLLATE "C" CHECK ((paused_by IS NULL) = (paused_at IS NULL)),
        ADD COLUMN IF NOT EXISTS paused_because text COLLATE "C"
          CHECK ((paused_because IS NULL) = (paused_at IS NULL)),
        ADD COLUMN IF NOT EXISTS backfill text COLLATE "C"
      """,
      """
      CREATE INDEX IF NOT EXISTS identifier_standing ON identifier (id)
        WHERE paused_at IS NOT NULL OR backfill IS NOT NULL
      """,
      """
      ALTER TABLE request
        ADD COLUMN IF NOT EXISTS scheduled_at bigint,
        ADD COLUMN IF NOT EXISTS backfill bigint NOT NULL DEFAULT 0 CHECK (backfill BETWEEN 0 AND 2)
      """,
      """
      UPDATE request SET scheduled_at = earliest_at FROM identifier i
      WHERE request.launches = 0 AND request.state <= 1 AND request.head IS NULL AND request.poke IS NULL
        AND request.scheduled_at IS NULL AND i.id = request.identifier AND i.anchor_at = request.earliest_at
        AND i.anchor_is_dated = request.is_dated
      """,
    ],
    // Notifications. What an earlier version ends meanwhile is not told.
    [
      """
      ALTER TABLE request
        ADD COLUMN IF NOT EXISTS notified bigint NOT NULL DEFAULT 0 CHECK (notified >= 0),
        ADD COLUMN IF NOT EXISTS tell_at bigint
      """,
      """
      CREATE INDEX IF NOT EXISTS request_tell_at ON request (tell_at)
        WHERE tell_at IS NOT NULL AND launches = 0 AND state <= 1
      """,
      """
      CREATE TABLE IF NOT EXISTS notification (
        subject bigint NOT NULL,
        position bigint NOT NULL CHECK (position >= 1),
        receiver text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        content text COLLATE "C" NOT NULL,
        at bigint NOT NULL,
        since bigint NOT NULL,
        attempts bigint NOT NULL DEFAULT 0 CHECK (attempts >= 0),
        next_at bigint NOT NULL,
        error text COLLATE "C",
        failed_at bigint,
        PRIMARY KEY (subject, position, receiver),
        CHECK (failed_at IS NULL OR error IS NOT NULL)
      ) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05)
      """,
      "CREATE INDEX IF NOT EXISTS notification_due ON notification (receiver, next_at) WHERE failed_at IS NULL",
      "CREATE INDEX IF NOT EXISTS notification_since ON notification (since) WHERE failed_at IS NULL",
      "CREATE INDEX IF NOT EXISTS notification_failed ON notification (failed_at) WHERE failed_at IS NOT NULL",
    ],
    // Limits by key. An earlier version would start launches beyond the limit, so it may not write any more.
    [
      "ALTER TABLE request ADD COLUMN IF NOT EXISTS waits_on text COLLATE \"C\"",
      """
      CREATE INDEX IF NOT EXISTS request_waits_on ON request (waits_on, definition, priority, id)
        WHERE state = 0 AND eligible_at = 9223372036854775806
      """,
      """
      CREATE TABLE IF NOT EXISTS limit_key (
        name text COLLATE "C" PRIMARY KEY,
        running bigint NOT NULL DEFAULT 0 CHECK (running >= 0),
        full_at bigint NOT NULL DEFAULT 0,
        due_at bigint,
        set_limit bigint CHECK (set_limit >= 1),
        set_per bigint CHECK (set_per >= 1),
        set_burst bigint CHECK (set_burst >= 1),
        last_limit bigint CHECK (last_limit >= 1),
        last_per bigint CHECK (last_per >= 1),
        last_burst bigint CHECK (last_burst >= 1),
        CHECK (set_limit IS NOT NULL OR set_per IS NULL),
        CHECK ((set_per IS NULL) = (set_burst IS NULL))
      ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05)
      """,
      "CREATE INDEX IF NOT EXISTS limit_key_due ON limit_key (due_at) WHERE due_at IS NOT NULL",
      """
      CREATE TABLE IF NOT EXISTS limit_line (
        name text COLLATE "C" NOT NULL,
        definition bigint NOT NULL,
        priority bigint NOT NULL,
        PRIMARY KEY (name, definition, priority)
      ) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05)
      """,
    ],
    // Results. An earlier version would lose those that a worker gives, and would not hand them on.
    [
      """
      ALTER TABLE dependency
        ADD COLUMN IF NOT EXISTS position bigint NOT NULL DEFAULT 0 CHECK (position >= 0),
        ADD COLUMN IF NOT EXISTS ended_as bigint CHECK (ended_as BETWEEN 3 AND 5)
      """,
      """
      CREATE TABLE IF NOT EXISTS result (
        request bigint PRIMARY KEY,
        head bigint NOT NULL,
        shard bigint NOT NULL CHECK (shard >= 0),
        bytes bytea NOT NULL CHECK (length(bytes) BETWEEN 1 AND 65536)
      ) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05)
      """,
      "CREATE UNIQUE INDEX IF NOT EXISTS result_head ON result (head, shard)",
      """
      CREATE OR REPLACE FUNCTION delete_belongings_of_requests() RETURNS trigger
        LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
        DELETE FROM launch USING gone WHERE launch.request = gone.id;
        DELETE FROM progress USING gone WHERE progress.request = gone.id;
        DELETE FROM payload USING gone WHERE payload.request = gone.id;
        DELETE FROM event USING gone WHERE event.request = gone.id;
        DELETE FROM completion USING gone WHERE completion.request = gone.id;
        DELETE FROM joining USING gone WHERE joining.request = gone.id;
        DELETE FROM item_page USING gone WHERE item_page.request = gone.id;
        DELETE FROM output USING gone WHERE output.request = gone.id;
        DELETE FROM rejected_span USING gone WHERE rejected_span.request = gone.id;
        DELETE FROM spread USING gone WHERE spread.request = gone.id;
        DELETE FROM transfer USING gone WHERE transfer.request = gone.id;
        DELETE FROM dependency USING gone WHERE dependency.request = gone.id;
        DELETE FROM result USING gone WHERE result.request = gone.id;
        IF EXISTS (SELECT 1 FROM request JOIN gone ON request.head = gone.id) THEN
          DELETE FROM request USING gone WHERE request.head = gone.id;
        END IF;
        RETURN NULL;
      END $$
      """,
    ],
  ]

  /// What makes all tables of this version in a database that has none.
  static var steps: [String] { [text] + upgrades.joined() }

  /// The tables of version 1, which never change.
  static let text = fleetTables + "\n" + requestTables

  /// The first rows. The name of the store is a parameter.
  static let rows = """
    INSERT INTO audit_head VALUES (1, 0, decode(repeat('00', 32), 'hex'), 1, decode(repeat('00', 32), 'hex'))
    """
}
