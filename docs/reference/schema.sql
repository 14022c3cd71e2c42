CREATE TABLE artifact_chunks (
  upload_id uuid NOT NULL,
  ordinal integer NOT NULL,
  content bytea NOT NULL,
  CONSTRAINT ck_artifact_chunks_size CHECK ((octet_length(content) <= 1048576)),
  CONSTRAINT fk_artifact_chunks_uploads FOREIGN KEY (upload_id) REFERENCES artifact_uploads(upload_id) ON DELETE CASCADE,
  CONSTRAINT pk_artifact_chunks PRIMARY KEY (upload_id, ordinal)
);
GRANT INSERT ON artifact_chunks TO valise_ingress;
GRANT SELECT ON artifact_chunks TO valise_operator;

CREATE TABLE artifact_uploads (
  upload_id uuid NOT NULL,
  log_artifact_id text NOT NULL,
  started_at_ms bigint NOT NULL,
  project_id text NOT NULL,
  byte_length integer NOT NULL,
  finished boolean NOT NULL DEFAULT false,
  CONSTRAINT pk_artifact_uploads PRIMARY KEY (upload_id),
  CONSTRAINT uq_artifact_uploads_log UNIQUE (log_artifact_id)
);
CREATE INDEX ix_artifact_uploads_unfinished ON artifact_uploads USING btree (started_at_ms) WHERE (NOT finished);
GRANT DELETE, INSERT, SELECT ON artifact_uploads TO valise_ingress;
GRANT DELETE, SELECT ON artifact_uploads TO valise_sweeper;
GRANT UPDATE (finished) ON artifact_uploads TO valise_ingress;

CREATE TABLE artifact_usage (
  project_id text NOT NULL,
  byte_length bigint NOT NULL,
  CONSTRAINT pk_artifact_usage PRIMARY KEY (project_id)
);
GRANT INSERT, SELECT ON artifact_usage TO valise_ingress;
GRANT SELECT ON artifact_usage TO valise_sweeper;
GRANT UPDATE (byte_length) ON artifact_usage TO valise_ingress;
GRANT UPDATE (byte_length) ON artifact_usage TO valise_sweeper;

CREATE TABLE artifacts (
  log_artifact_id text NOT NULL,
  upload_id uuid NOT NULL,
  project_id text NOT NULL,
  run_id text NOT NULL,
  attempt_id text NOT NULL,
  byte_length integer NOT NULL,
  sha256 text NOT NULL,
  truncated boolean NOT NULL,
  stored_at_ms bigint NOT NULL,
  CONSTRAINT fk_artifacts_uploads FOREIGN KEY (upload_id) REFERENCES artifact_uploads(upload_id),
  CONSTRAINT pk_artifacts PRIMARY KEY (log_artifact_id),
  CONSTRAINT uq_artifacts_upload UNIQUE (upload_id)
);
CREATE INDEX ix_artifacts_attempt ON artifacts USING btree (attempt_id, stored_at_ms DESC, log_artifact_id);
CREATE INDEX ix_artifacts_stored ON artifacts USING btree (stored_at_ms);
GRANT DELETE, SELECT ON artifacts TO valise_sweeper;
GRANT INSERT, SELECT ON artifacts TO valise_ingress;
GRANT SELECT ON artifacts TO valise_operator;
GRANT SELECT (upload_id) ON artifacts TO valise_sweeper;

CREATE TABLE attempts (
  attempt_id text NOT NULL,
  run_id text NOT NULL,
  attempt_number integer NOT NULL,
  project_id text NOT NULL,
  priority integer NOT NULL,
  status text NOT NULL,
  claims integer NOT NULL DEFAULT 0,
  decided_by text,
  executor_handle text,
  log_artifact_id text,
  callback_sequence integer NOT NULL DEFAULT 0,
  callback_token_digest text,
  exit_code integer,
  signal text,
  reason_code text,
  queued_at_ms bigint NOT NULL,
  started_at_ms bigint,
  finished_at_ms bigint,
  created_at_ms bigint NOT NULL,
  updated_at_ms bigint NOT NULL,
  execution_digest text NOT NULL,
  CONSTRAINT ck_attempts_claims CHECK (((claims >= 0) AND (claims <= 5))),
  CONSTRAINT ck_attempts_decided_by CHECK ((decided_by = ANY (ARRAY['start_failure'::text, 'completion'::text, 'sweeper'::text, 'operator'::text]))),
  CONSTRAINT ck_attempts_exit_code CHECK (((exit_code >= 0) AND (exit_code <= 255))),
  CONSTRAINT ck_attempts_reason_code CHECK ((reason_code = ANY (ARRAY['secret_unavailable'::text, 'secret_response_invalid'::text, 'environment_budget_exceeded'::text, 'environment_name_refused'::text, 'environment_name_conflict'::text, 'delivery_denied'::text, 'delivery_budget_exhausted'::text, 'artifact_unavailable'::text, 'command_not_found'::text, 'command_not_executable'::text, 'argument_list_too_long'::text, 'out_of_memory'::text, 'killed_by_signal'::text, 'stopped_by_operator'::text, 'stopped_by_timeout'::text, 'lease_lost'::text, 'worker_restarted'::text, 'worker_shutdown'::text, 'worker_unavailable'::text, 'launch_outcome_unknown'::text]))),
  CONSTRAINT ck_attempts_status CHECK ((status = ANY (ARRAY['queued'::text, 'claimed'::text, 'starting'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text, 'timed_out'::text, 'lost'::text]))),
  CONSTRAINT fk_attempts_runs FOREIGN KEY (run_id) REFERENCES runs(run_id),
  CONSTRAINT pk_attempts PRIMARY KEY (attempt_id),
  CONSTRAINT uq_attempts_number UNIQUE (run_id, attempt_number)
);
CREATE INDEX ix_attempts_project_queue ON attempts USING btree (project_id, ((1000 - priority)), queued_at_ms, attempt_id) WHERE (status = 'queued'::text);
CREATE INDEX ix_attempts_queue ON attempts USING btree (((- priority)), queued_at_ms, attempt_id) WHERE (status = 'queued'::text);
CREATE INDEX ix_attempts_revision_queue ON attempts USING btree (project_id, execution_digest, ((2000 - priority)), queued_at_ms, attempt_id) WHERE (status = 'queued'::text);
GRANT INSERT, SELECT ON attempts TO valise_operator;
GRANT SELECT ON attempts TO valise_ingress;
GRANT SELECT ON attempts TO valise_sweeper;
GRANT UPDATE (callback_sequence, callback_token_digest, claims, decided_by, executor_handle, exit_code, finished_at_ms, log_artifact_id, reason_code, signal, started_at_ms, status, updated_at_ms) ON attempts TO valise_ingress;
GRANT UPDATE (decided_by, finished_at_ms, reason_code, status, updated_at_ms) ON attempts TO valise_operator;
GRANT UPDATE (decided_by, finished_at_ms, reason_code, status, updated_at_ms) ON attempts TO valise_sweeper;

CREATE TABLE audit_events (
  event_id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  occurred_at_ms bigint NOT NULL,
  transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
  actor_kind text NOT NULL,
  actor_id text NOT NULL,
  action text NOT NULL,
  project_id text,
  subject_id text NOT NULL,
  facts jsonb NOT NULL,
  CONSTRAINT ck_audit_events_action CHECK ((action ~ '^[a-z_]{1,64}$'::text)),
  CONSTRAINT ck_audit_events_actor CHECK ((actor_kind = ANY (ARRAY['operator'::text, 'sweeper'::text]))),
  CONSTRAINT pk_audit_events PRIMARY KEY (event_id, occurred_at_ms)
) PARTITION BY RANGE (occurred_at_ms);
CREATE INDEX ix_audit_events_order ON ONLY audit_events USING btree (transaction_id, event_id);
GRANT SELECT ON audit_events TO valise_operator;
GRANT INSERT (action, actor_id, actor_kind, facts, occurred_at_ms, project_id, subject_id) ON audit_events TO valise_operator;
GRANT INSERT (action, actor_id, actor_kind, facts, occurred_at_ms, project_id, subject_id) ON audit_events TO valise_sweeper;

CREATE OR REPLACE FUNCTION valise.clock_ms()
 RETURNS bigint
 LANGUAGE sql
 PARALLEL SAFE
RETURN (floor((EXTRACT(epoch FROM clock_timestamp()) * (1000)::numeric)))::bigint;
GRANT EXECUTE ON clock_ms TO valise_ingress;
GRANT EXECUTE ON clock_ms TO valise_operator;
GRANT EXECUTE ON clock_ms TO valise_retention;
GRANT EXECUTE ON clock_ms TO valise_sweeper;

CREATE OR REPLACE FUNCTION valise.create_partitions(months_back integer, months_ahead integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'valise', 'pg_temp'
AS $function$
      DECLARE
        entry record;
        first_day timestamptz;
        partition_name text;
        created integer := 0;
      BEGIN
        PERFORM pg_advisory_xact_lock(4960202);
        FOR entry IN SELECT table_name FROM partitioned_tables ORDER BY table_name LOOP
          FOR months IN -months_back .. months_ahead LOOP
            first_day := date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
              + make_interval(months => months);
            partition_name := entry.table_name || '_' || to_char(first_day AT TIME ZONE 'UTC', 'YYYY_MM');
            IF to_regclass(partition_name) IS NULL THEN
              -- Attaching blocks nobody; CREATE … PARTITION OF would lock all writers out.
              EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)',
                partition_name, entry.table_name);
              EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                entry.table_name, partition_name,
                month_start_ms(first_day), month_start_ms(first_day + interval '1 month'));
              created := created + 1;
            END IF;
          END LOOP;
        END LOOP;
        RETURN created;
      END $function$;
GRANT EXECUTE ON create_partitions TO valise_retention;
GRANT EXECUTE ON create_partitions TO valise_sweeper;

CREATE TABLE delivery_outcomes (
  record_id uuid NOT NULL,
  decided_at_ms bigint NOT NULL,
  outcome text NOT NULL,
  outcome_at_ms bigint NOT NULL,
  CONSTRAINT ck_delivery_outcomes_outcome CHECK ((outcome = ANY (ARRAY['sent'::text, 'custody_failed'::text, 'aborted'::text]))),
  CONSTRAINT pk_delivery_outcomes PRIMARY KEY (record_id, decided_at_ms)
) PARTITION BY RANGE (decided_at_ms);
GRANT INSERT ON delivery_outcomes TO valise_ingress;
GRANT SELECT ON delivery_outcomes TO valise_operator;

CREATE TABLE delivery_records (
  record_id uuid NOT NULL,
  decided_at_ms bigint NOT NULL,
  decision text NOT NULL,
  denial text,
  worker_id text NOT NULL,
  session_id text,
  run_id text,
  attempt_id text,
  lease_generation integer,
  secret_count smallint NOT NULL,
  bundle_count smallint NOT NULL,
  certificate_serial text NOT NULL,
  request_digest text NOT NULL,
  CONSTRAINT ck_delivery_records_decision CHECK ((decision = ANY (ARRAY['authorised'::text, 'denied'::text]))),
  CONSTRAINT ck_delivery_records_denial CHECK ((denial ~ '^[a-z_]{1,64}$'::text)),
  CONSTRAINT ck_delivery_records_verdict CHECK (((decision = 'denied'::text) = (denial IS NOT NULL))),
  CONSTRAINT pk_delivery_records PRIMARY KEY (record_id, decided_at_ms)
) PARTITION BY RANGE (decided_at_ms);
CREATE INDEX ix_delivery_records_run ON ONLY delivery_records USING btree (run_id, decided_at_ms, record_id);
GRANT INSERT ON delivery_records TO valise_ingress;
GRANT SELECT ON delivery_records TO valise_operator;

CREATE TABLE denial_windows (
  worker_id text NOT NULL,
  started_at_ms bigint NOT NULL DEFAULT 0,
  denials integer NOT NULL DEFAULT 0,
  unrecorded integer NOT NULL DEFAULT 0,
  CONSTRAINT pk_denial_windows PRIMARY KEY (worker_id)
);
CREATE INDEX ix_denial_windows_unrecorded ON denial_windows USING btree (worker_id) WHERE (unrecorded > 0);
GRANT SELECT ON denial_windows TO valise_ingress;
GRANT SELECT ON denial_windows TO valise_sweeper;
GRANT INSERT (worker_id) ON denial_windows TO valise_operator;
GRANT UPDATE (denials, started_at_ms, unrecorded) ON denial_windows TO valise_ingress;
GRANT UPDATE (unrecorded) ON denial_windows TO valise_sweeper;

CREATE OR REPLACE FUNCTION valise.drop_partitions(keep_from_ms bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'valise', 'pg_temp'
AS $function$
      DECLARE
        entry record;
        dropped integer := 0;
      BEGIN
        PERFORM pg_advisory_xact_lock(4960202);
        FOR entry IN
          WITH partitions AS MATERIALIZED (
            SELECT child.relname AS partition_name
              FROM partitioned_tables
              JOIN pg_inherits ON inhparent = to_regclass(table_name)
              JOIN pg_class child ON child.oid = inhrelid)
          SELECT partition_name FROM partitions
           WHERE month_start_ms(to_timestamp(right(partition_name, 7) || '_01 +00', 'YYYY_MM_DD TZH')
                   + interval '1 month') <= LEAST(keep_from_ms, clock_ms())
           ORDER BY partition_name
        LOOP
          EXECUTE format('DROP TABLE %I', entry.partition_name);
          dropped := dropped + 1;
        END LOOP;
        RETURN dropped;
      END $function$;
GRANT EXECUTE ON drop_partitions TO valise_retention;

CREATE TABLE late_reports (
  report_id uuid NOT NULL,
  reported_at_ms bigint NOT NULL,
  kind text NOT NULL,
  worker_id text NOT NULL,
  run_id text NOT NULL,
  attempt_id text NOT NULL,
  lease_generation integer NOT NULL,
  attempt_status text NOT NULL,
  outcome text,
  exit_code integer,
  reason_code text,
  CONSTRAINT ck_late_reports_kind CHECK ((kind = ANY (ARRAY['start_failure'::text, 'completion'::text]))),
  CONSTRAINT ck_late_reports_outcome CHECK ((outcome = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text, 'timed_out'::text]))),
  CONSTRAINT pk_late_reports PRIMARY KEY (report_id, reported_at_ms)
) PARTITION BY RANGE (reported_at_ms);
CREATE INDEX ix_late_reports_attempt ON ONLY late_reports USING btree (attempt_id, lease_generation, kind);
GRANT INSERT ON late_reports TO valise_ingress;
GRANT SELECT ON late_reports TO valise_operator;
GRANT SELECT (attempt_id, kind, lease_generation) ON late_reports TO valise_ingress;

CREATE TABLE lease_claims (
  offer_id text NOT NULL,
  attempt_id text NOT NULL,
  lease_generation integer NOT NULL,
  worker_id text NOT NULL,
  session_id text NOT NULL,
  worker_generation integer NOT NULL,
  token_digest text NOT NULL,
  placement_score integer NOT NULL,
  claimed_at_ms bigint NOT NULL,
  CONSTRAINT fk_lease_claims_attempts FOREIGN KEY (attempt_id) REFERENCES attempts(attempt_id),
  CONSTRAINT pk_lease_claims PRIMARY KEY (offer_id),
  CONSTRAINT uq_lease_claims_generation UNIQUE (attempt_id, lease_generation)
);
GRANT INSERT, SELECT ON lease_claims TO valise_ingress;

CREATE TABLE leases (
  attempt_id text NOT NULL,
  state text NOT NULL DEFAULT 'released'::text,
  generation integer NOT NULL DEFAULT 0,
  version integer NOT NULL DEFAULT 0,
  worker_id text,
  session_id text,
  worker_generation integer,
  offer_id text,
  token_digest text,
  duration_ms integer NOT NULL DEFAULT 0,
  acquired_at_ms bigint NOT NULL DEFAULT 0,
  renewed_at_ms bigint NOT NULL DEFAULT 0,
  expires_at_ms bigint NOT NULL DEFAULT 0,
  authorisations integer NOT NULL DEFAULT 0,
  open_record_id uuid,
  open_since_ms bigint,
  updated_at_ms bigint NOT NULL,
  custody_failures integer NOT NULL DEFAULT 0,
  CONSTRAINT ck_leases_authorisations CHECK (((authorisations >= 0) AND (authorisations <= 8))),
  CONSTRAINT ck_leases_custody_failures CHECK (((custody_failures >= 0) AND (custody_failures <= 5))),
  CONSTRAINT ck_leases_holder CHECK (((state <> 'leased'::text) OR ((worker_id IS NOT NULL) AND (session_id IS NOT NULL) AND (worker_generation IS NOT NULL) AND (offer_id IS NOT NULL) AND (token_digest IS NOT NULL)))),
  CONSTRAINT ck_leases_open CHECK (((open_record_id IS NULL) = (open_since_ms IS NULL))),
  CONSTRAINT ck_leases_state CHECK ((state = ANY (ARRAY['leased'::text, 'released'::text, 'completed'::text]))),
  CONSTRAINT fk_leases_attempts FOREIGN KEY (attempt_id) REFERENCES attempts(attempt_id),
  CONSTRAINT pk_leases PRIMARY KEY (attempt_id)
);
CREATE INDEX ix_leases_held ON leases USING btree (worker_id, session_id) WHERE (state = 'leased'::text);
GRANT SELECT ON leases TO valise_ingress;
GRANT SELECT ON leases TO valise_operator;
GRANT SELECT ON leases TO valise_sweeper;
GRANT INSERT (attempt_id, updated_at_ms) ON leases TO valise_operator;
GRANT UPDATE (acquired_at_ms, authorisations, custody_failures, duration_ms, expires_at_ms, generation, offer_id, open_record_id, open_since_ms, renewed_at_ms, session_id, state, token_digest, updated_at_ms, version, worker_generation, worker_id) ON leases TO valise_ingress;
GRANT UPDATE (expires_at_ms, state, updated_at_ms, version) ON leases TO valise_operator;
GRANT UPDATE (state, updated_at_ms, version) ON leases TO valise_sweeper;

CREATE OR REPLACE FUNCTION valise.month_start_ms(moment timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
RETURN ((EXTRACT(epoch FROM date_trunc('month'::text, (moment AT TIME ZONE 'UTC'::text))) * (1000)::numeric))::bigint;

CREATE TABLE mutations (
  project_id text NOT NULL,
  mutation_id text NOT NULL,
  kind text NOT NULL,
  content_digest text NOT NULL,
  subject_id text NOT NULL,
  result integer,
  applied_at_ms bigint NOT NULL,
  CONSTRAINT ck_mutations_kind CHECK ((kind = ANY (ARRAY['publish_task'::text, 'start_run'::text, 'cancel_run'::text, 'retry_run'::text]))),
  CONSTRAINT pk_mutations PRIMARY KEY (project_id, mutation_id)
);
GRANT INSERT, SELECT ON mutations TO valise_operator;

CREATE TABLE partitioned_tables (
  table_name text NOT NULL,
  CONSTRAINT pk_partitioned_tables PRIMARY KEY (table_name)
);

CREATE TABLE runs (
  run_id text NOT NULL,
  project_id text NOT NULL,
  task_id text NOT NULL,
  revision integer NOT NULL,
  task_revision text NOT NULL,
  priority integer NOT NULL,
  status text NOT NULL,
  newest_attempt_number integer NOT NULL,
  cancel_requested_at_ms bigint,
  stop_requested_at_ms bigint,
  deadline_at_ms bigint,
  created_at_ms bigint NOT NULL,
  updated_at_ms bigint NOT NULL,
  CONSTRAINT ck_runs_newest CHECK ((newest_attempt_number >= 1)),
  CONSTRAINT ck_runs_priority CHECK (((priority >= 0) AND (priority <= 1000))),
  CONSTRAINT ck_runs_status CHECK ((status = ANY (ARRAY['queued'::text, 'dispatching'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text, 'timed_out'::text, 'lost'::text]))),
  CONSTRAINT fk_runs_execution FOREIGN KEY (project_id, task_id, revision) REFERENCES task_execution_revisions(project_id, task_id, revision),
  CONSTRAINT pk_runs PRIMARY KEY (run_id)
);
CREATE INDEX ix_runs_deadline ON runs USING btree (deadline_at_ms) WHERE ((deadline_at_ms IS NOT NULL) AND (stop_requested_at_ms IS NULL) AND (status = ANY (ARRAY['dispatching'::text, 'running'::text])));
GRANT INSERT, SELECT ON runs TO valise_operator;
GRANT SELECT ON runs TO valise_ingress;
GRANT SELECT ON runs TO valise_sweeper;
GRANT UPDATE (cancel_requested_at_ms, deadline_at_ms, newest_attempt_number, status, stop_requested_at_ms, updated_at_ms) ON runs TO valise_operator;
GRANT UPDATE (deadline_at_ms, status, stop_requested_at_ms, updated_at_ms) ON runs TO valise_ingress;
GRANT UPDATE (deadline_at_ms, status, stop_requested_at_ms, updated_at_ms) ON runs TO valise_sweeper;

CREATE TABLE task_definition_revisions (
  project_id text NOT NULL,
  task_id text NOT NULL,
  revision integer NOT NULL,
  content_digest text NOT NULL,
  definition_json text NOT NULL,
  enabled boolean NOT NULL,
  created_at_ms bigint NOT NULL,
  updated_at_ms bigint NOT NULL,
  CONSTRAINT ck_task_definition_revisions_revision CHECK ((revision >= 1)),
  CONSTRAINT pk_task_definition_revisions PRIMARY KEY (project_id, task_id, revision)
);
GRANT INSERT, SELECT ON task_definition_revisions TO valise_operator;

CREATE TABLE task_execution_revisions (
  project_id text NOT NULL,
  task_id text NOT NULL,
  revision integer NOT NULL,
  content_digest text NOT NULL,
  plan_json text NOT NULL,
  secret_refs text[] NOT NULL,
  environment_bundle_refs text[] NOT NULL,
  placement_json text,
  timeout_ms bigint,
  created_at_ms bigint NOT NULL,
  CONSTRAINT ck_task_execution_revisions_bundle CHECK ((cardinality(environment_bundle_refs) <= 1)),
  CONSTRAINT fk_task_execution_revisions_definition FOREIGN KEY (project_id, task_id, revision) REFERENCES task_definition_revisions(project_id, task_id, revision),
  CONSTRAINT pk_task_execution_revisions PRIMARY KEY (project_id, task_id, revision)
);
GRANT INSERT, SELECT ON task_execution_revisions TO valise_operator;
GRANT SELECT ON task_execution_revisions TO valise_ingress;
GRANT SELECT (environment_bundle_refs, project_id, revision, secret_refs, task_id) ON task_execution_revisions TO valise_sweeper;

CREATE TABLE tasks (
  project_id text NOT NULL,
  task_id text NOT NULL,
  revision integer NOT NULL,
  created_at_ms bigint NOT NULL,
  updated_at_ms bigint NOT NULL,
  CONSTRAINT fk_tasks_definition FOREIGN KEY (project_id, task_id, revision) REFERENCES task_definition_revisions(project_id, task_id, revision),
  CONSTRAINT pk_tasks PRIMARY KEY (project_id, task_id)
);
GRANT INSERT, SELECT ON tasks TO valise_operator;
GRANT UPDATE (revision, updated_at_ms) ON tasks TO valise_operator;

CREATE TABLE worker_sessions (
  worker_id text NOT NULL,
  session_id text,
  generation integer NOT NULL DEFAULT 0,
  version integer NOT NULL DEFAULT 0,
  status text NOT NULL DEFAULT 'offline'::text,
  expires_at_ms bigint NOT NULL DEFAULT 0,
  capabilities_json text,
  capabilities_hash text,
  max_concurrent_runs integer NOT NULL DEFAULT 0,
  available_slots integer NOT NULL DEFAULT 0,
  leases_at_report integer NOT NULL DEFAULT 0,
  lease_duration_ms integer NOT NULL DEFAULT 0,
  registered_at_ms bigint,
  updated_at_ms bigint NOT NULL,
  CONSTRAINT ck_worker_sessions_generation CHECK (((generation = 0) = (session_id IS NULL))),
  CONSTRAINT ck_worker_sessions_status CHECK ((status = ANY (ARRAY['online'::text, 'draining'::text, 'offline'::text]))),
  CONSTRAINT fk_worker_sessions_workers FOREIGN KEY (worker_id) REFERENCES workers(worker_id),
  CONSTRAINT pk_worker_sessions PRIMARY KEY (worker_id)
);
CREATE INDEX ix_worker_sessions_expiry ON worker_sessions USING btree (expires_at_ms) WHERE (status <> 'offline'::text);
GRANT SELECT ON worker_sessions TO valise_ingress;
GRANT SELECT ON worker_sessions TO valise_operator;
GRANT SELECT ON worker_sessions TO valise_sweeper;
GRANT INSERT (updated_at_ms, worker_id) ON worker_sessions TO valise_operator;
GRANT UPDATE (available_slots, capabilities_hash, capabilities_json, expires_at_ms, generation, lease_duration_ms, leases_at_report, max_concurrent_runs, registered_at_ms, session_id, status, updated_at_ms, version) ON worker_sessions TO valise_ingress;
GRANT UPDATE (status, updated_at_ms, version) ON worker_sessions TO valise_operator;
GRANT UPDATE (status, updated_at_ms, version) ON worker_sessions TO valise_sweeper;

CREATE TABLE workers (
  worker_id text NOT NULL,
  status text NOT NULL,
  projects text[] NOT NULL,
  labels jsonb NOT NULL,
  created_at_ms bigint NOT NULL,
  updated_at_ms bigint NOT NULL,
  CONSTRAINT ck_workers_status CHECK ((status = ANY (ARRAY['active'::text, 'draining'::text, 'revoked'::text]))),
  CONSTRAINT pk_workers PRIMARY KEY (worker_id)
);
GRANT INSERT, SELECT ON workers TO valise_operator;
GRANT SELECT ON workers TO valise_ingress;
GRANT UPDATE (labels, projects, status, updated_at_ms) ON workers TO valise_operator;
