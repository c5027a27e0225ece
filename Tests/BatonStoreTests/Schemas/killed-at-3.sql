-- A store as version 0 of the schema's third migration left it when its coordinator was killed: see UpgradeTests.
PRAGMA application_id = 1113683054;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO grdb_migrations VALUES('1 initial schema');
INSERT INTO grdb_migrations VALUES('2 contract');
INSERT INTO grdb_migrations VALUES('3 traces');
CREATE TABLE store (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  incarnation TEXT NOT NULL,
  is_paused INTEGER NOT NULL DEFAULT 0 CHECK (is_paused IN (0, 1)),
  next_request INTEGER NOT NULL DEFAULT 1 CHECK (next_request >= 1)
) STRICT;
INSERT INTO store VALUES(1,'4d8d411c7df5d0183847c9e45573fbfa',0,10);
CREATE TABLE host (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  incarnation TEXT,  -- that holds the lease
  is_draining INTEGER NOT NULL DEFAULT 0 CHECK (is_draining IN (0, 1)),
  last_seen_at INTEGER NOT NULL
, use_day INTEGER NOT NULL DEFAULT 0, used INTEGER NOT NULL DEFAULT 0 CHECK (used >= 0), word TEXT) STRICT;
INSERT INTO host VALUES(1,'anna','d3c5ce29708c0093',0,1795328577226984949,20779,186279225,'{"capabilities":{"handlers":[],"kinds":["continued","refresh","processing"],"permittedIdentifiers":[],"runsCommands":true,"slots":4},"conditions":{"battery":{"age":[0,26116355000000000],"raw":"not probed","source":"assumed"},"gpus":{"age":[0,26116355000000000],"raw":"not probed","source":"assumed"},"isIdle":{"age":[0,26116355000000000],"raw":"not probed","source":"assumed","value":true},"labels":{"age":[0,26116355000000000],"raw":"","source":"worker.yaml","value":{}},"lowPowerMode":{"age":[0,26116355000000000],"raw":"not probed","source":"assumed","value":false},"network":{"age":[0,26116355000000000],"raw":"not probed","source":"assumed","value":"unmetered"},"owner":{"accepting":{}},"power":{"age":[0,26116355000000000],"raw":"not probed","source":"assumed","value":"external"},"thermal":{"age":[0,26116355000000000],"raw":"not probed","source":"assumed","value":0}},"version":"0.1.0"}');
CREATE TABLE pattern (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  definition INTEGER REFERENCES definition (id),  -- the applied one; null after remove
  applied_at INTEGER,
  scheduled INTEGER NOT NULL DEFAULT 0 CHECK (scheduled >= 0),
  ready INTEGER NOT NULL DEFAULT 0 CHECK (ready >= 0),
  running INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),
  succeeded INTEGER NOT NULL DEFAULT 0 CHECK (succeeded >= 0),
  failed INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0),
  cancelled INTEGER NOT NULL DEFAULT 0 CHECK (cancelled >= 0), use_day INTEGER NOT NULL DEFAULT 0, used INTEGER NOT NULL DEFAULT 0 CHECK (used >= 0), usual_batch INTEGER CHECK (usual_batch >= 0),
  CHECK ((definition IS NULL) = (applied_at IS NULL))
) STRICT;
INSERT INTO pattern VALUES(1,'com.example.done',1,1795328579129802144,0,0,0,1,0,0,20779,60907784,NULL);
INSERT INTO pattern VALUES(2,'com.example.failed',2,1795328579129802144,0,0,0,0,1,0,20779,10309300,NULL);
INSERT INTO pattern VALUES(3,'com.example.backing-off',3,1795328579129802144,1,0,0,0,0,0,20779,38098443,NULL);
INSERT INTO pattern VALUES(4,'com.example.running',4,1795328579129802144,0,0,1,0,0,0,0,0,NULL);
INSERT INTO pattern VALUES(5,'com.example.no-host',5,1795328579129802144,0,1,0,0,0,0,0,0,NULL);
INSERT INTO pattern VALUES(6,'com.example.later',6,1795328579129802144,1,0,0,0,0,0,0,0,NULL);
INSERT INTO pattern VALUES(7,'com.example.cancelled',7,1795328579129802144,0,0,0,0,0,1,0,0,NULL);
INSERT INTO pattern VALUES(8,'com.example.nightly',8,1795328579129802144,1,0,0,1,0,0,20779,76963698,NULL);
CREATE TABLE definition (
  id INTEGER PRIMARY KEY,
  pattern INTEGER NOT NULL REFERENCES pattern (id),
  content TEXT NOT NULL UNIQUE  -- canonical JSON: equal definitions are one row
) STRICT;
INSERT INTO definition VALUES(1,1,'{"allowFrequent":false,"budget":[32,9704189641294348288],"kind":"processing","pattern":"com.example.done","priority":0,"requirements":{"externalPower":false,"requiresIdle":true,"slots":1},"retry":{"backoff":[1,11553255926290448384],"limit":3},"strategy":"queue","work":{"batchSize":2,"command":["/bin/echo","done"],"environment":{},"items":{"range":{"_0":[1,6]}},"onExpiry":"finishBatch","pass":"arguments"}}');
INSERT INTO definition VALUES(2,2,'{"allowFrequent":false,"budget":[32,9704189641294348288],"kind":"processing","pattern":"com.example.failed","priority":0,"requirements":{"externalPower":false,"requiresIdle":true,"slots":1},"retry":{"backoff":[1,11553255926290448384],"limit":0},"strategy":"queue","work":{"batchSize":1,"command":["/bin/sh","-c","exit 3"],"environment":{},"onExpiry":"finishBatch","pass":"arguments"}}');
INSERT INTO definition VALUES(3,3,'{"allowFrequent":false,"budget":[32,9704189641294348288],"kind":"processing","pattern":"com.example.backing-off","priority":0,"requirements":{"externalPower":false,"requiresIdle":true,"slots":1},"retry":{"backoff":[390,5769811253274869760],"limit":3},"strategy":"queue","work":{"batchSize":1,"command":["/bin/sh","-c","exit 3"],"environment":{},"onExpiry":"finishBatch","pass":"arguments"}}');
INSERT INTO definition VALUES(4,4,'{"allowFrequent":false,"budget":[32,9704189641294348288],"kind":"processing","pattern":"com.example.running","priority":0,"requirements":{"externalPower":false,"requiresIdle":true,"slots":1},"retry":{"backoff":[1,11553255926290448384],"limit":3},"strategy":"queue","work":{"batchSize":10,"command":["/bin/sh","-c","sleep 0.2"],"environment":{},"items":{"range":{"_0":[1,100]}},"onExpiry":"finishBatch","pass":"arguments"}}');
INSERT INTO definition VALUES(5,5,'{"allowFrequent":false,"budget":[32,9704189641294348288],"kind":"processing","pattern":"com.example.no-host","priority":0,"requirements":{"externalPower":false,"gpu":{"count":2},"requiresIdle":true,"slots":1},"retry":{"backoff":[1,11553255926290448384],"limit":3},"strategy":"queue","work":{"batchSize":1,"command":["true"],"environment":{},"onExpiry":"finishBatch","pass":"arguments"}}');
INSERT INTO definition VALUES(6,6,'{"allowFrequent":false,"budget":[32,9704189641294348288],"kind":"processing","pattern":"com.example.later","priority":0,"requirements":{"externalPower":false,"requiresIdle":true,"slots":1},"retry":{"backoff":[1,11553255926290448384],"limit":3},"strategy":"queue","work":{"batchSize":1,"command":["true"],"environment":{},"onExpiry":"finishBatch","pass":"arguments"}}');
INSERT INTO definition VALUES(7,7,'{"allowFrequent":false,"budget":[32,9704189641294348288],"kind":"processing","pattern":"com.example.cancelled","priority":0,"requirements":{"externalPower":false,"gpu":{"count":2},"requiresIdle":true,"slots":1},"retry":{"backoff":[1,11553255926290448384],"limit":3},"strategy":"queue","work":{"batchSize":1,"command":["true"],"environment":{},"onExpiry":"finishBatch","pass":"arguments"}}');
INSERT INTO definition VALUES(8,8,'{"allowFrequent":false,"budget":[32,9704189641294348288],"kind":"processing","pattern":"com.example.nightly","priority":0,"repeatEvery":[4683,13897502818169782272],"requirements":{"externalPower":false,"requiresIdle":true,"slots":1},"retry":{"backoff":[1,11553255926290448384],"limit":3},"strategy":"queue","work":{"batchSize":1,"command":["true"],"environment":{},"onExpiry":"finishBatch","pass":"arguments"}}');
CREATE TABLE identifier (  -- kept for ever: numbers of requests never come again
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK (length(CAST(name AS BLOB)) <= 255),
  last_number INTEGER NOT NULL CHECK (last_number >= 0),
  last_first_launch_at INTEGER  -- of refresh jobs, for their spacing
, no_data_in_row INTEGER NOT NULL DEFAULT 0 CHECK (no_data_in_row >= 0), anchor_at INTEGER, anchor_is_dated INTEGER
  CHECK ((anchor_is_dated IS NULL) = (anchor_at IS NULL)) CHECK (anchor_is_dated BETWEEN 0 AND 1)) STRICT;
INSERT INTO identifier VALUES(1,'com.example.nightly',2,NULL,0,1795414979129802299,0);
INSERT INTO identifier VALUES(2,'com.example.done',1,NULL,0,NULL,NULL);
INSERT INTO identifier VALUES(3,'com.example.failed',1,NULL,0,NULL,NULL);
INSERT INTO identifier VALUES(4,'com.example.backing-off',1,NULL,0,NULL,NULL);
INSERT INTO identifier VALUES(5,'com.example.no-host',1,NULL,0,NULL,NULL);
INSERT INTO identifier VALUES(6,'com.example.cancelled',1,NULL,0,NULL,NULL);
INSERT INTO identifier VALUES(7,'com.example.later',1,NULL,0,NULL,NULL);
INSERT INTO identifier VALUES(8,'com.example.running',1,NULL,0,NULL,NULL);
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
  parent_span_id BLOB, is_dated INTEGER NOT NULL DEFAULT 0 CHECK (is_dated BETWEEN 0 AND 1), poke INTEGER CHECK (poke = 5 OR poke = 10), ready_at INTEGER, held_by INTEGER CHECK (held_by BETWEEN 0 AND 3), submitted_as INTEGER, obstacles TEXT,
  CHECK ((state = 0) = (cause IS NOT NULL)),
  CHECK ((state >= 3) = (ended_at IS NOT NULL)),
  CHECK ((launches > 0) = (host IS NOT NULL AND started_at IS NOT NULL)),
  CHECK (state <> 2 OR launches > 0),
  CHECK (cause <> 3 OR launches = 0)
) STRICT;
INSERT INTO request VALUES(1,1,1,8,0,3,NULL,1795328579129802299,1795328579129802299,1795328579129802144,'apply',1,1,1795328579149252024,1795328579226215758,'succeeded',NULL,0,0,0,NULL,NULL,X'd2f6b6147720c27454e027ced4387b10',X'695cf1d3ff3fa17b',1,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO request VALUES(2,1,2,8,0,0,0,1795414979129802299,1795414979129802299,1795328579149252024,'apply',0,NULL,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,X'9390df07db43847069cfda1519fa820f',X'ef7675efb0edacce',1,NULL,0,NULL,NULL,3,NULL,NULL);
INSERT INTO request VALUES(3,2,1,1,0,3,NULL,1795328579225940205,1795328579225940205,1795328579225940001,'ada',1,1,1795328579225940001,1795328579286847905,'succeeded',NULL,0,0,0,NULL,NULL,X'4cc4984f1a8ad234c044a50ccbdf8334',X'26ae13f06f45bd6a',1,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO request VALUES(4,3,1,2,0,4,NULL,1795328579295350775,1795328579295350775,1795328579295350534,'ada',1,1,1795328579295350534,1795328579305659953,'failed','''/bin/sh'' in /srv/anna/launches/4-1/work on anna (batch 0 of com.example.failed, request 1) ended with status 3; it wrote nothing',1,0,0,NULL,NULL,X'25d6d14504c664df3f5aa836c5e9289f',X'c2ab18360e73c695',1,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO request VALUES(5,4,1,3,0,0,2,1795335779372034098,1795328579333935655,1795328579333935427,'ada',1,1,1795328579333935427,NULL,'failed','''/bin/sh'' in /srv/anna/launches/5-1/work on anna (batch 0 of com.example.backing-off, request 1) ended with status 3; it wrote nothing',1,0,0,NULL,NULL,X'05c53365933ee2dc47a96c7b0b06d6fa',X'42c8bc3d76fb7743',1,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO request VALUES(6,5,1,5,0,1,NULL,1795328579379478941,1795328579379478941,1795328579379478697,'ada',0,NULL,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,X'94c7816500f3c7d09a0af28f96d26ee4',X'19af1000d3d8d0c3',1,NULL,0,NULL,1795328579379478697,NULL,NULL,NULL);
INSERT INTO request VALUES(7,6,1,7,0,5,NULL,1795328579430623450,1795328579430623450,1795328579430623213,'ada',0,NULL,NULL,1795328580540674713,'cancelled','ada',0,0,0,'ada',NULL,X'10bb98fcaa9b87f141f4a4b9a2749ddb',X'c8f7dac93803efa7',1,NULL,0,NULL,1795328579430623213,NULL,NULL,replace('1795328579475277632+hostHasNoGPU\n1795328579475277632+noHostHasGPU','\n',char(10)));
INSERT INTO request VALUES(8,7,1,6,0,0,0,1795335779467962982,1795335779467962982,1795328579467962737,'ada',0,NULL,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,X'8b341127835ad754c606d60413a5e99a',X'223ce165a8e8db23',1,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO request VALUES(9,8,1,4,0,2,NULL,1795328580590890762,1795328580590890762,1795328580590890518,'ada',1,1,1795328580590890518,NULL,NULL,NULL,0,0,0,NULL,NULL,X'fba10abdca20b6d62fa0e05bf3222f50',X'e6124ec9a388b1d7',1,NULL,0,NULL,NULL,NULL,NULL,NULL);
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
  expiring_since INTEGER, started_steady INTEGER NOT NULL DEFAULT 0, is_simulated INTEGER NOT NULL DEFAULT 0 CHECK (is_simulated BETWEEN 0 AND 1), ready_at INTEGER, held_by INTEGER CHECK (held_by BETWEEN 0 AND 3), obstacles TEXT, error_type TEXT,
  PRIMARY KEY (request, number),
  CHECK ((ended_at IS NULL) = (outcome IS NULL)),
  CHECK ((expiring_reason IS NULL) = (expiring_since IS NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO launch VALUES(1,1,1,'d3c5ce29708c0093','',X'f54b4d1ed65586fc',1795328579149252024,1795328579226215758,'finished',NULL,1,0,1,NULL,NULL,NULL,1795328579149252217,0,1795328579129802144,NULL,NULL,NULL);
INSERT INTO launch VALUES(3,1,1,'d3c5ce29708c0093','',X'b0ca139240a18250',1795328579225940001,1795328579286847905,'finished',NULL,1,0,3,NULL,NULL,NULL,1795328579225940205,0,NULL,NULL,NULL,NULL);
INSERT INTO launch VALUES(4,1,1,'d3c5ce29708c0093','',X'f6fd92d2971a446a',1795328579295350534,1795328579305659953,'failed','''/bin/sh'' in /srv/anna/launches/4-1/work on anna (batch 0 of com.example.failed, request 1) ended with status 3; it wrote nothing',1,0,0,NULL,NULL,NULL,1795328579295350775,0,NULL,NULL,NULL,'exit 3');
INSERT INTO launch VALUES(5,1,1,'d3c5ce29708c0093','',X'28c3e6d40914b14e',1795328579333935427,1795328579372034126,'failed','''/bin/sh'' in /srv/anna/launches/5-1/work on anna (batch 0 of com.example.backing-off, request 1) ended with status 3; it wrote nothing',1,0,0,NULL,NULL,NULL,1795328579333935655,0,NULL,NULL,NULL,'exit 3');
INSERT INTO launch VALUES(9,1,1,'d3c5ce29708c0093','',X'cec571c43048b6e4',1795328580590890518,NULL,NULL,NULL,1,0,0,NULL,NULL,NULL,1795328580590890762,0,NULL,NULL,NULL,NULL);
CREATE TABLE progress (
  request INTEGER PRIMARY KEY REFERENCES request (id) ON DELETE CASCADE,
  batches INTEGER NOT NULL CHECK (batches >= 0),
  completed_units INTEGER NOT NULL,
  total_units INTEGER,
  reaches_end INTEGER NOT NULL CHECK (reaches_end IN (0, 1)),
  subtitle TEXT,
  cursor BLOB
) STRICT;
INSERT INTO progress VALUES(1,1,1,1,1,NULL,NULL);
INSERT INTO progress VALUES(3,3,6,6,1,NULL,NULL);
INSERT INTO progress VALUES(9,6,60,100,0,NULL,NULL);
CREATE TABLE payload (
  request INTEGER PRIMARY KEY REFERENCES request (id) ON DELETE CASCADE,
  bytes BLOB NOT NULL CHECK (length(bytes) <= 65536)
) STRICT;
CREATE TABLE event (
  request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  at INTEGER NOT NULL,
  name TEXT NOT NULL,
  detail TEXT, phase INTEGER,
  PRIMARY KEY (request, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE item_page (
  id INTEGER PRIMARY KEY,
  request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
  start INTEGER NOT NULL CHECK (start >= 0),
  count INTEGER NOT NULL CHECK (count BETWEEN 0 AND 1000),
  launch INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (request, start)
) STRICT;
CREATE TABLE output (
  request INTEGER NOT NULL,
  launch INTEGER NOT NULL,
  start INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (request, launch, start),
  FOREIGN KEY (request, launch) REFERENCES launch (request, number) ON DELETE CASCADE
) STRICT;
INSERT INTO output VALUES(3,1,0,X'646f6e65203120320a646f6e65203320340a646f6e65203520360a');
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
INSERT INTO submission VALUES(1,'36cd0d40-2200-43f2-8207-4fcb97a476ca',1795328579225940205,3,2,1,1,0,2,1795328579225940001,0);
INSERT INTO submission VALUES(2,'4139d592-9675-4373-9581-d9836e2f9ef8',1795328579295350775,4,3,1,2,0,2,1795328579295350534,0);
INSERT INTO submission VALUES(3,'fa8e620b-aa50-4ca1-b656-33ce07872603',1795328579333935655,5,4,1,3,0,2,1795328579333935427,0);
INSERT INTO submission VALUES(4,'5c6693f7-05f1-4903-be59-93acf42533a1',1795328579379478941,6,5,1,5,0,1,1795328579379478697,0);
INSERT INTO submission VALUES(5,'6207d543-db91-4b85-8b92-c4251e525edd',1795328579430623450,7,6,1,7,0,1,1795328579430623213,0);
INSERT INTO submission VALUES(6,'ed81e0b2-0be2-4997-a2bb-b9259298a36d',1795328579467962982,8,7,1,6,0,0,1795335779467962737,0);
INSERT INTO submission VALUES(7,'080aeb91-fb38-4d19-bd76-d4f9adba97de',1795328580590890762,9,8,1,4,0,2,1795328580590890518,0);
CREATE TABLE clock (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  date INTEGER NOT NULL,
  steady INTEGER NOT NULL,
  boot TEXT NOT NULL,
  instant INTEGER NOT NULL
) STRICT;
INSERT INTO clock VALUES(1,1795328575136739793,1795328575136740041,'48181ff6-4d95-497d-944a-c1e3b1b39bfd',39815409600373);
CREATE TABLE eviction (
  host INTEGER NOT NULL REFERENCES host (id),
  pattern TEXT NOT NULL,
  PRIMARY KEY (host, pattern)
) STRICT, WITHOUT ROWID;
CREATE TABLE poke (  -- goes with its submission's id
  submission INTEGER PRIMARY KEY REFERENCES submission (id) ON DELETE CASCADE,
  request INTEGER NOT NULL,  -- that it asked for or joined; perhaps not kept any more
  at INTEGER NOT NULL,
  priority INTEGER NOT NULL CHECK (priority = 5 OR priority = 10),
  principal TEXT NOT NULL
) STRICT;
CREATE TABLE completion (  -- those before the present one, of requests that were retried
  request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
  launches INTEGER NOT NULL,
  state INTEGER NOT NULL CHECK (state BETWEEN 3 AND 5),
  reason TEXT,
  ended_at INTEGER NOT NULL,
  PRIMARY KEY (request, launches)
) STRICT, WITHOUT ROWID;
CREATE TABLE unsent_span (
  request INTEGER NOT NULL,
  launch INTEGER NOT NULL,  -- launches of the request until then
  parts INTEGER NOT NULL CHECK (parts > 0),  -- SpanParts
  PRIMARY KEY (request, launch, parts)
) STRICT, WITHOUT ROWID;
CREATE TABLE rejected_span (  -- a backend will not have them
  request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
  launch INTEGER NOT NULL,
  parts INTEGER NOT NULL,
  at INTEGER NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (request, launch, parts)
) STRICT, WITHOUT ROWID;
CREATE INDEX definition_pattern ON definition (pattern);
CREATE UNIQUE INDEX request_number ON request (identifier, number);
CREATE UNIQUE INDEX request_waiting ON request (identifier) WHERE launches = 0 AND state <= 1;
CREATE UNIQUE INDEX request_live ON request (identifier) WHERE launches > 0 AND state <= 2;
CREATE INDEX request_ready ON request (definition, priority) WHERE state = 1;
CREATE INDEX request_eligible ON request (eligible_at) WHERE state = 0;
CREATE INDEX request_scheduled ON request (state) WHERE state = 0;
CREATE INDEX request_unsuccessful ON request (state) WHERE state >= 4;
CREATE INDEX request_host ON request (host) WHERE host IS NOT NULL;
CREATE INDEX request_ended ON request (ended_at) WHERE ended_at IS NOT NULL;
CREATE UNIQUE INDEX launch_open ON launch (request) WHERE ended_at IS NULL;
CREATE INDEX launch_open_on_host ON launch (host) WHERE ended_at IS NULL;
CREATE INDEX request_dated ON request (earliest_at) WHERE state = 0 AND cause = 0 AND is_dated = 1;
CREATE INDEX poke_request ON poke (request);
COMMIT;
