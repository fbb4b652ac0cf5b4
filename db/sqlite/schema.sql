-- Version 1 of the tuning log. docs/reference/log-schema.md explains every table and column.
CREATE TABLE workload(
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE CHECK(length(key) = 16),
  text TEXT NOT NULL CHECK(length(text) > 0),
  summary TEXT NOT NULL
) STRICT;

CREATE TABLE target(
  id INTEGER PRIMARY KEY,
  class TEXT NOT NULL UNIQUE CHECK(length(class) > 0)
) STRICT;

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
  digest BLOB NOT NULL CHECK(length(digest) = 16),
  CHECK(CASE outcome
    WHEN 0 THEN median_ns IS NOT NULL AND median_ns > 0 AND median_ns < 1e12 AND runs >= 3
                AND median_ns >= floor_ns AND p10_ns <= median_ns AND median_ns <= p90_ns
    WHEN 6 THEN median_ns IS NOT NULL AND median_ns > 0 AND median_ns < 1e12
    ELSE median_ns IS NULL END)
) STRICT;
CREATE TABLE long_config(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK(length(name) BETWEEN 3 AND 8191),
  text TEXT NOT NULL CHECK(length(text) BETWEEN 8192 AND 1572864)
) STRICT;
CREATE INDEX record_best ON record(workload, target, median_ns) WHERE outcome = 0;
CREATE INDEX record_confirmed ON record(workload, target) WHERE outcome = 0 AND arm = 'verify';
CREATE INDEX record_task ON record(workload, target);

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
CREATE INDEX job_state ON job(state);
CREATE INDEX job_base ON job(base, created_us);
CREATE INDEX job_created ON job(created_us);

CREATE TABLE job_task(
  job BLOB NOT NULL REFERENCES job(id),
  ordinal INTEGER NOT NULL CHECK(ordinal >= 0),
  workload INTEGER NOT NULL REFERENCES workload(id),
  occurrences INTEGER NOT NULL CHECK(occurrences >= 1),
  label TEXT NOT NULL,
  PRIMARY KEY(job, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE model_blob(
  id INTEGER PRIMARY KEY,
  family TEXT NOT NULL,
  target TEXT NOT NULL,
  features BLOB NOT NULL CHECK(length(features) = 16),
  bytes BLOB NOT NULL,
  created_us INTEGER NOT NULL,
  digest BLOB NOT NULL CHECK(length(digest) = 16)
) STRICT;
CREATE INDEX model_version ON model_blob(family, target, features, id);

CREATE TABLE admin_hold(
  worker TEXT PRIMARY KEY CHECK(length(worker) > 0),
  quarantine TEXT NOT NULL,
  drain TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  changed_us INTEGER NOT NULL,
  CHECK(length(quarantine) > 0 OR length(drain) > 0)
) STRICT, WITHOUT ROWID;
