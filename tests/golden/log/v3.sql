PRAGMA application_id=1296843604;
PRAGMA user_version=3;
CREATE TABLE workload(
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE CHECK(length(key) = 16),
  text TEXT NOT NULL CHECK(length(text) > 0),
  summary TEXT NOT NULL
) STRICT;
INSERT INTO workload VALUES(1,X'820F99D224C9A678D83764C917AB7C01','workload v1 of tests','matmul 8x8x8');
CREATE TABLE target(
  id INTEGER PRIMARY KEY,
  class TEXT NOT NULL UNIQUE CHECK(length(class) > 0)
) STRICT;
INSERT INTO target VALUES(1,'cpu');
CREATE TABLE record(
  id INTEGER PRIMARY KEY,
  task_uid BLOB NOT NULL UNIQUE CHECK(length(task_uid) = 16),
  job_id BLOB NOT NULL CHECK(length(job_id) = 16),
  workload INTEGER NOT NULL REFERENCES workload(id),
  target INTEGER NOT NULL REFERENCES target(id),
  family TEXT NOT NULL CHECK(length(family) > 0),
  family_version INTEGER NOT NULL CHECK(family_version >= 1),
  config TEXT NOT NULL CHECK(length(config) BETWEEN 3 AND 8191),
  outcome INTEGER NOT NULL CHECK(outcome BETWEEN 0 AND 6),
  median_ns REAL,
  p10_ns REAL NOT NULL CHECK(p10_ns >= 0 AND p10_ns < 1e12),
  p90_ns REAL NOT NULL CHECK(p90_ns >= 0 AND p90_ns < 1e15),
  runs INTEGER NOT NULL CHECK(runs >= 0),
  cold_ns REAL NOT NULL CHECK(cold_ns >= 0 AND cold_ns < 1e15),
  floor_ns REAL NOT NULL CHECK(floor_ns >= 0 AND floor_ns < 1e12),
  max_error REAL NOT NULL CHECK(max_error >= 0),
  build_ms REAL NOT NULL CHECK(build_ms >= 0),
  clock_mhz REAL NOT NULL CHECK(clock_mhz >= 0),
  machine_speed REAL NOT NULL CHECK(machine_speed >= 0),
  detail TEXT NOT NULL CHECK(length(detail) <= 16384),
  toolchain TEXT NOT NULL,
  worker TEXT NOT NULL,
  arm TEXT NOT NULL,
  predicted_rank INTEGER NOT NULL CHECK(predicted_rank >= 0),
  seed INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  digest BLOB NOT NULL CHECK(length(digest) = 16), device_ms REAL NOT NULL DEFAULT 0 CHECK(device_ms >= 0),
  CHECK(CASE outcome
    WHEN 0 THEN median_ns IS NOT NULL AND median_ns > 0 AND median_ns < 1e12 AND runs >= 3
                AND median_ns >= floor_ns AND p10_ns <= median_ns AND median_ns <= p90_ns
    WHEN 6 THEN median_ns IS NOT NULL AND median_ns > 0 AND median_ns < 1e12
    ELSE median_ns IS NULL END)
) STRICT;
INSERT INTO record VALUES(1,X'32AAA48E45FA0EEC85D898D03119B138',X'00000000000000010000000000000002',1,1,'contraction',1,'contraction/1 mr=1',0,100.0,100.0,101.0,9,0.0,0.0,0.0,0.0,3400.0,0.75,'','llvm','cpu0','seed',1,5,1000001,X'7A348C10BC541B1C7380B68A7ADBD0B2',125.0);
INSERT INTO record VALUES(2,X'B6A5F622D49F7010543BBFAC973B90D8',X'00000000000000010000000000000002',1,1,'contraction',1,'contraction/1 mr=2',0,90.5,90.5,91.5,9,0.0,0.0,0.0,0.0,3400.0,0.75,'','llvm','cpu0','verify',2,5,1000002,X'8DC7FEBEEDFF6FCE34FD844DB05CDE59',125.0);
INSERT INTO record VALUES(3,X'99529F61310BC41169498D2433EA0B0B',X'00000000000000010000000000000002',1,1,'contraction',1,'contraction/1 mr=3',3,NULL,0.0,0.0,0,0.0,0.0,0.0,0.0,0.0,1.0,'it''s signal 11','llvm','cpu0','seed',3,5,1000003,X'36C8C5510CAEE8188A85AE0A09984038',0.0);
INSERT INTO record VALUES(4,X'63559D4B3F02DBA3C64161B8E4526394',X'00000000000000010000000000000002',1,1,'user_kernel',1,'user_kernel/1 #c6304d4b1808bc46d33efc3ac48ef43a',0,200.0,200.0,201.0,9,0.0,0.0,0.0,0.0,3400.0,0.75,'','llvm','cpu0','given',4,5,1000004,X'C4A878C72FB1D1A95B9F37E53C316730',125.0);
CREATE TABLE long_config(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK(length(name) BETWEEN 3 AND 8191),
  text TEXT NOT NULL CHECK(length(text) BETWEEN 8192 AND 1572864)
) STRICT;
INSERT INTO long_config VALUES(1,'user_kernel/1 #c6304d4b1808bc46d33efc3ac48ef43a','user_kernel/1 source=line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5line6line7line8line9line0line1line2line3line4line5');
CREATE TABLE job(
  id BLOB PRIMARY KEY CHECK(length(id) = 16),
  label TEXT NOT NULL,
  target TEXT NOT NULL,
  options TEXT NOT NULL,
  state INTEGER NOT NULL CHECK(state BETWEEN 0 AND 3),
  trials INTEGER NOT NULL CHECK(trials >= 0),
  watermark INTEGER NOT NULL CHECK(watermark >= 0),
  detail TEXT NOT NULL,
  created_us INTEGER NOT NULL,
  owner TEXT NOT NULL,
  priority INTEGER NOT NULL CHECK(priority BETWEEN -100 AND 100),
  spent_ms INTEGER NOT NULL CHECK(spent_ms >= 0),
  changed_us INTEGER NOT NULL,
  progress TEXT NOT NULL,
  base BLOB NOT NULL CHECK(length(base) = 16),
  crashes INTEGER NOT NULL CHECK(crashes >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO job VALUES(X'00000000000000010000000000000002','model','cpu','{}',0,0,0,'',0,'ada',5,0,7,'{}',X'00000000000000010000000000000002',2);
CREATE TABLE job_task(
  job BLOB NOT NULL REFERENCES job(id),
  ordinal INTEGER NOT NULL CHECK(ordinal >= 0),
  workload INTEGER NOT NULL REFERENCES workload(id),
  occurrences INTEGER NOT NULL CHECK(occurrences >= 1),
  label TEXT NOT NULL,
  PRIMARY KEY(job, ordinal)
) STRICT, WITHOUT ROWID;
INSERT INTO job_task VALUES(X'00000000000000010000000000000002',0,1,2,'conv');
CREATE TABLE model_blob(
  id INTEGER PRIMARY KEY,
  family TEXT NOT NULL,
  target TEXT NOT NULL,
  features BLOB NOT NULL CHECK(length(features) = 16),
  bytes BLOB NOT NULL,
  created_us INTEGER NOT NULL,
  digest BLOB NOT NULL CHECK(length(digest) = 16)
) STRICT;
INSERT INTO model_blob VALUES(1,'contraction','cpu',X'00000000000000030000000000000004',X'6279746573',7,X'95F64CAD147D23EE983871C230125B12');
CREATE TABLE admin_hold(
  worker TEXT PRIMARY KEY CHECK(length(worker) > 0),
  quarantine TEXT NOT NULL,
  drain TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  changed_us INTEGER NOT NULL,
  CHECK(length(quarantine) > 0 OR length(drain) > 0)
) STRICT, WITHOUT ROWID;
INSERT INTO admin_hold VALUES('gpu-07','fan broken','','',1700000000000000);
CREATE INDEX record_task ON record(workload, target);
CREATE INDEX job_state ON job(state);
CREATE INDEX job_base ON job(base, created_us);
CREATE INDEX job_created ON job(created_us);
CREATE INDEX model_version ON model_blob(family, target, features, id);
CREATE INDEX record_best ON record(workload, target, median_ns, task_uid) WHERE outcome = 0;
CREATE INDEX record_confirmed ON record(workload, target, created_us, task_uid) WHERE outcome = 0 AND arm = 'verify';
