extension PostgresSchema {
  /// The tables of the fleet, of hosts and of definitions in version 1, which never change.
  static let fleetTables = """
    -- The fleet

    CREATE TABLE store (
      id bigint PRIMARY KEY CHECK (id = 1),
      incarnation text COLLATE "C" NOT NULL,
      is_paused bigint NOT NULL DEFAULT 0 CHECK (is_paused IN (0, 1)),
      next_request bigint NOT NULL DEFAULT 1 CHECK (next_request >= 1),  -- here the sequence request_ids counts
      former_incarnation text COLLATE "C",
      steward bigint,
      definitions_version bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);

    CREATE TABLE host (
      id bigint PRIMARY KEY,
      name text COLLATE "C" NOT NULL UNIQUE,
      incarnation text COLLATE "C",
      is_draining bigint NOT NULL DEFAULT 0 CHECK (is_draining IN (0, 1)),
      last_seen_at bigint NOT NULL,
      use_day bigint NOT NULL DEFAULT 0,
      used bigint NOT NULL DEFAULT 0 CHECK (used >= 0),
      word text COLLATE "C",
      secret bytea CHECK (length(secret) = 32),
      owner bigint,
      lease bigint NOT NULL DEFAULT 0,
      link bigint
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);

    CREATE TABLE eviction (
      host bigint NOT NULL REFERENCES host (id) DEFERRABLE INITIALLY DEFERRED,
      pattern text COLLATE "C" NOT NULL,
      PRIMARY KEY (host, pattern)
    );

    CREATE TABLE clock (
      id bigint PRIMARY KEY CHECK (id = 1),
      date bigint NOT NULL,
      steady bigint NOT NULL,
      boot text COLLATE "C" NOT NULL,
      instant bigint NOT NULL,
      steward bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);

    CREATE TABLE coordinator (
      epoch bigint PRIMARY KEY,
      tenure bigint NOT NULL UNIQUE,
      address text COLLATE "C" NOT NULL,
      beat bigint NOT NULL DEFAULT 0,
      commits bigint NOT NULL CHECK (commits >= 0),
      pending bigint NOT NULL DEFAULT 0,
      is_ended bigint NOT NULL DEFAULT 0 CHECK (is_ended IN (0, 1)),
      is_settled bigint NOT NULL DEFAULT 0 CHECK (is_settled <= is_ended)
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);
    CREATE INDEX coordinator_unsettled ON coordinator (is_ended, epoch) WHERE is_settled = 0;

    -- Definitions

    CREATE TABLE pattern (
      id bigint PRIMARY KEY,
      name text COLLATE "C" NOT NULL UNIQUE,
      definition bigint,
      applied_at bigint,
      usual_batch bigint CHECK (usual_batch >= 0),
      used_at bigint,
      CHECK ((definition IS NULL) = (applied_at IS NULL))
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);

    CREATE TABLE definition (
      id bigint PRIMARY KEY,
      pattern bigint NOT NULL REFERENCES pattern (id) DEFERRABLE INITIALLY DEFERRED,
      content text COLLATE "C" NOT NULL,
      -- UNIQUE in SQLite. A definition has up to 64 KiB, and an entry of a btree at most 2.7 kB; a hash index keeps 4
      -- bytes. Two equal ones are refused with 23P01 and not with 23505.
      CONSTRAINT definition_content EXCLUDE USING hash (content WITH =)
    );
    CREATE INDEX definition_pattern ON definition (pattern, id);
    ALTER TABLE pattern ADD FOREIGN KEY (definition) REFERENCES definition (id) DEFERRABLE INITIALLY DEFERRED;

    CREATE TABLE share (
      pattern bigint NOT NULL,
      coordinator bigint NOT NULL,
      scheduled bigint NOT NULL,
      ready bigint NOT NULL,
      running bigint NOT NULL,
      succeeded bigint NOT NULL,
      failed bigint NOT NULL,
      cancelled bigint NOT NULL,
      use_day bigint NOT NULL,
      used bigint NOT NULL CHECK (used >= 0),
      PRIMARY KEY (pattern, coordinator)
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);
    """
}
