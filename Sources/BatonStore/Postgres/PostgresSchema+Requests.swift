extension PostgresSchema {
  /// The other tables of version 1, triggers and sequences, which never change.
  static let requestTables = """
    -- Requests

    CREATE TABLE identifier (
      id bigint PRIMARY KEY,
      name text COLLATE "C" NOT NULL UNIQUE CHECK (octet_length(name) <= 255),
      last_number bigint NOT NULL CHECK (last_number >= 0),
      last_first_launch_at bigint,
      no_data_in_row bigint NOT NULL DEFAULT 0 CHECK (no_data_in_row >= 0),
      anchor_at bigint,
      anchor_is_dated bigint
        CHECK ((anchor_is_dated IS NULL) = (anchor_at IS NULL)) CHECK (anchor_is_dated BETWEEN 0 AND 1),
      usual_interval bigint CHECK (usual_interval >= 0)
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);

    CREATE TABLE request (
      id bigint PRIMARY KEY,
      identifier bigint NOT NULL,
      number bigint NOT NULL CHECK (number >= 1),
      definition bigint NOT NULL,
      priority bigint NOT NULL CHECK (priority BETWEEN 0 AND 2),
      state bigint NOT NULL CHECK (state BETWEEN 0 AND 5),
      cause bigint CHECK (cause BETWEEN 0 AND 3),
      eligible_at bigint NOT NULL,
      earliest_at bigint NOT NULL,
      submitted_at bigint NOT NULL,
      principal text COLLATE "C" NOT NULL,
      launches bigint NOT NULL DEFAULT 0 CHECK (launches >= 0),
      host bigint,
      started_at bigint,
      ended_at bigint,
      outcome text COLLATE "C",
      reason text COLLATE "C",
      failures bigint NOT NULL DEFAULT 0 CHECK (failures >= 0),
      losses bigint NOT NULL DEFAULT 0 CHECK (losses >= 0),
      strikes bigint NOT NULL DEFAULT 0 CHECK (strikes >= 0),
      cancelled_by text COLLATE "C",
      frozen_items bigint CHECK (frozen_items >= 0),
      trace_id bytea NOT NULL CHECK (length(trace_id) = 16),
      span_id bytea NOT NULL CHECK (length(span_id) = 8),
      is_sampled bigint NOT NULL CHECK (is_sampled IN (0, 1)),
      parent_span_id bytea,
      is_dated bigint NOT NULL DEFAULT 0 CHECK (is_dated BETWEEN 0 AND 1),
      poke bigint CHECK (poke = 5 OR poke = 10),
      ready_at bigint,
      held_by bigint CHECK (held_by BETWEEN 0 AND 3),
      submitted_as bigint,
      obstacles text COLLATE "C",
      CHECK ((state = 0) = (cause IS NOT NULL)),
      CHECK ((state >= 3) = (ended_at IS NOT NULL)),
      CHECK ((launches > 0) = (host IS NOT NULL AND started_at IS NOT NULL)),
      CHECK (state <> 2 OR launches > 0),
      CHECK (cause <> 3 OR launches = 0)
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);
    CREATE UNIQUE INDEX request_number ON request (identifier, number);
    CREATE UNIQUE INDEX request_waiting ON request (identifier) WHERE launches = 0 AND state <= 1;
    CREATE UNIQUE INDEX request_live ON request (identifier) WHERE launches > 0 AND state <= 2;
    CREATE INDEX request_ready ON request (definition, priority, id) WHERE state = 1;
    CREATE INDEX request_eligible ON request (eligible_at, id) WHERE state = 0;
    CREATE INDEX request_dated ON request (earliest_at, id) WHERE state = 0 AND cause = 0 AND is_dated = 1;
    CREATE INDEX request_scheduled ON request (id) WHERE state = 0;
    CREATE INDEX request_unsuccessful ON request (state, id) WHERE state >= 4;
    CREATE INDEX request_host ON request (host, id) WHERE host IS NOT NULL;
    CREATE INDEX request_ended ON request (ended_at, id) WHERE ended_at IS NOT NULL;

    CREATE TABLE launch (
      request bigint NOT NULL,
      number bigint NOT NULL CHECK (number >= 1),
      host bigint NOT NULL,
      incarnation text COLLATE "C" NOT NULL,
      gpus text COLLATE "C" NOT NULL,
      span_id bytea NOT NULL CHECK (length(span_id) = 8),
      started_at bigint NOT NULL,
      ended_at bigint,
      outcome text COLLATE "C"
        CHECK (outcome = 'finished' OR outcome = 'failed' OR outcome = 'expired' OR outcome = 'lost'),
      reason text COLLATE "C",
      is_graceful bigint NOT NULL DEFAULT 1 CHECK (is_graceful IN (0, 1)),
      first_batch bigint NOT NULL CHECK (first_batch >= 0),
      batches bigint NOT NULL DEFAULT 0 CHECK (batches >= 0),
      expiring_reason text COLLATE "C",
      expiring_detail text COLLATE "C",
      expiring_since bigint,
      started_steady bigint NOT NULL DEFAULT 0,
      is_simulated bigint NOT NULL DEFAULT 0 CHECK (is_simulated BETWEEN 0 AND 1),
      ready_at bigint,
      held_by bigint CHECK (held_by BETWEEN 0 AND 3),
      obstacles text COLLATE "C",
      error_type text COLLATE "C",
      definition bigint,
      PRIMARY KEY (request, number),
      CHECK ((ended_at IS NULL) = (outcome IS NULL)),
      CHECK ((expiring_reason IS NULL) = (expiring_since IS NULL))
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);
    CREATE UNIQUE INDEX launch_open ON launch (request) WHERE ended_at IS NULL;
    CREATE INDEX launch_open_on_host ON launch (host, request) WHERE ended_at IS NULL;

    CREATE TABLE progress (
      request bigint PRIMARY KEY,
      batches bigint NOT NULL CHECK (batches >= 0),
      completed_units bigint NOT NULL,
      total_units bigint,
      reaches_end bigint NOT NULL CHECK (reaches_end IN (0, 1)),
      subtitle text COLLATE "C",
      cursor bytea,
      skipped text COLLATE "C",
      skipped_units bigint NOT NULL DEFAULT 0 CHECK (skipped_units >= 0)
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);

    CREATE TABLE payload (
      request bigint PRIMARY KEY,
      bytes bytea NOT NULL CHECK (length(bytes) <= 65536)
    );

    CREATE TABLE event (
      request bigint NOT NULL,
      position bigint NOT NULL,
      at bigint NOT NULL,
      name text COLLATE "C" NOT NULL,
      detail text COLLATE "C",
      phase bigint,
      PRIMARY KEY (request, position)
    );

    CREATE TABLE completion (
      request bigint NOT NULL,
      launches bigint NOT NULL,
      state bigint NOT NULL CHECK (state BETWEEN 3 AND 5),
      reason text COLLATE "C",
      ended_at bigint NOT NULL,
      PRIMARY KEY (request, launches)
    );

    CREATE TABLE joining (
      request bigint NOT NULL,
      position bigint NOT NULL CHECK (position >= 1),
      poke text COLLATE "C",
      trace_id bytea CHECK (length(trace_id) = 16),
      span_id bytea CHECK (length(span_id) = 8),
      PRIMARY KEY (request, position),
      CHECK ((trace_id IS NULL) = (span_id IS NULL))
    );

    CREATE TABLE item_page (
      id bigint PRIMARY KEY,
      request bigint NOT NULL,
      start bigint NOT NULL CHECK (start >= 0),
      count bigint NOT NULL CHECK (count BETWEEN 0 AND 1000),
      launch bigint NOT NULL,
      bytes bytea NOT NULL,
      bytes_so_far bigint NOT NULL DEFAULT 0,
      UNIQUE (request, start)
    );

    CREATE TABLE output (
      request bigint NOT NULL,
      launch bigint NOT NULL,
      start bigint NOT NULL,
      bytes bytea NOT NULL,
      PRIMARY KEY (request, launch, start)
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);

    CREATE TABLE submission (
      id bigint PRIMARY KEY,
      key text COLLATE "C" NOT NULL UNIQUE CHECK (octet_length(key) BETWEEN 1 AND 64),
      at bigint NOT NULL,
      request bigint NOT NULL,
      identifier bigint NOT NULL,
      number bigint NOT NULL,
      definition bigint NOT NULL,
      priority bigint NOT NULL,
      state bigint NOT NULL,
      eligible_at bigint NOT NULL,
      replaced bigint NOT NULL
    );

    CREATE TABLE poke (
      submission bigint PRIMARY KEY,
      request bigint NOT NULL,
      at bigint NOT NULL,
      priority bigint NOT NULL CHECK (priority = 5 OR priority = 10),
      principal text COLLATE "C" NOT NULL
    );
    CREATE INDEX poke_request ON poke (request, submission);

    -- Spans

    CREATE TABLE unsent_span (
      request bigint NOT NULL,
      launch bigint NOT NULL,
      parts bigint NOT NULL CHECK (parts > 0),
      PRIMARY KEY (request, launch, parts)
    ) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);  -- a queue

    CREATE TABLE rejected_span (
      request bigint NOT NULL,
      launch bigint NOT NULL,
      parts bigint NOT NULL,
      at bigint NOT NULL,
      message text COLLATE "C" NOT NULL,
      PRIMARY KEY (request, launch, parts)
    );

    -- Identities, operators, the audit log

    CREATE TABLE invitation (
      id bytea PRIMARY KEY CHECK (length(id) = 8),
      host text COLLATE "C" NOT NULL,
      digest bytea NOT NULL CHECK (length(digest) = 32),
      ends_at bigint NOT NULL,
      principal text COLLATE "C" NOT NULL,
      serial bytea,
      joined_at bigint,
      needs_approval bigint NOT NULL DEFAULT 0 CHECK (needs_approval IN (0, 1)),
      approved_key bytea CHECK (length(approved_key) = 32),
      CHECK ((serial IS NULL) = (joined_at IS NULL))
    );

    CREATE TABLE certificate (
      serial bytea PRIMARY KEY,
      host text COLLATE "C" NOT NULL,
      key bytea NOT NULL CHECK (length(key) = 32),
      der bytea NOT NULL,
      ends_at bigint NOT NULL,
      is_revoked bigint NOT NULL DEFAULT 0 CHECK (is_revoked IN (0, 1))
    );

    CREATE TABLE credential (
      id bytea PRIMARY KEY CHECK (length(id) = 8),
      name text COLLATE "C" NOT NULL,
      digest bytea NOT NULL CHECK (length(digest) = 32),
      scopes text COLLATE "C" NOT NULL,
      patterns text COLLATE "C" NOT NULL,
      ends_at bigint NOT NULL,
      created_at bigint NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      used_at bigint,
      is_revoked bigint NOT NULL DEFAULT 0 CHECK (is_revoked IN (0, 1))
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);

    CREATE TABLE audit (
      sequence bigint PRIMARY KEY,
      at bigint NOT NULL,
      actor text COLLATE "C" NOT NULL,
      credential bytea,
      peer text COLLATE "C" NOT NULL,
      method text COLLATE "C" NOT NULL,
      object text COLLATE "C" NOT NULL,
      outcome text COLLATE "C" NOT NULL,
      detail text COLLATE "C" NOT NULL,
      previous bytea NOT NULL CHECK (length(previous) = 32),
      hash bytea NOT NULL CHECK (length(hash) = 32)
    );

    CREATE TABLE audit_head (
      id bigint PRIMARY KEY CHECK (id = 1),
      sequence bigint NOT NULL,
      hash bytea NOT NULL CHECK (length(hash) = 32),
      kept bigint NOT NULL,
      before bytea NOT NULL CHECK (length(before) = 32)
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);

    -- Triggers

    CREATE FUNCTION refuse_change_of_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'a row of the audit log is never changed' USING ERRCODE = 'integrity_constraint_violation';
    END $$;
    CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
      FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit();

    -- SQLite has no TRUNCATE. It would go round the next trigger.
    CREATE TRIGGER audit_is_not_truncated BEFORE TRUNCATE ON audit
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_audit();

    -- The condition of a trigger may not read another table (SQLite's may), so the function does. It sees what earlier
    -- statements of its transaction have changed: the head is moved first, in a statement of its own.
    CREATE FUNCTION refuse_early_deletion_of_audit() RETURNS trigger
      LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
      IF OLD.sequence >= (SELECT kept FROM audit_head) THEN
        RAISE EXCEPTION 'a row of the audit log is deleted only after its time'
          USING ERRCODE = 'integrity_constraint_violation';
      END IF;
      RETURN OLD;
    END $$;
    CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
      FOR EACH ROW EXECUTE FUNCTION refuse_early_deletion_of_audit();

    -- ON DELETE CASCADE, once for a whole statement.
    CREATE FUNCTION delete_belongings_of_requests() RETURNS trigger
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
      RETURN NULL;
    END $$;
    CREATE TRIGGER request_takes_its_belongings AFTER DELETE ON request REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION delete_belongings_of_requests();

    CREATE FUNCTION delete_pokes_of_submissions() RETURNS trigger
      LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
      DELETE FROM poke USING gone WHERE poke.submission = gone.id;
      RETURN NULL;
    END $$;
    CREATE TRIGGER submission_takes_its_poke AFTER DELETE ON submission REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION delete_pokes_of_submissions();

    -- The numbers of new rows.

    CREATE SEQUENCE identifier_ids;
    CREATE SEQUENCE request_ids;
    CREATE SEQUENCE submission_ids;
    CREATE SEQUENCE pattern_ids;
    CREATE SEQUENCE definition_ids;
    CREATE SEQUENCE host_ids;
    CREATE SEQUENCE item_page_ids;
    """
}
