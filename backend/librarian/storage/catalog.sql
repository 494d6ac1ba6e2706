CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL){compact};
CREATE TABLE changes (number {key}, doc_ids TEXT NOT NULL);
CREATE TABLE documents (
    id {key},
    file_path {sorted} NOT NULL UNIQUE,
    product {sorted} NOT NULL,
    component {sorted} NOT NULL,
    kind TEXT NOT NULL,
    file_type TEXT NOT NULL,
    title TEXT NOT NULL,
    title_in_text BOOLEAN NOT NULL,
    doc_type TEXT NOT NULL,
    language TEXT NOT NULL,
    modified BIGINT NOT NULL,
    size BIGINT NOT NULL,
    mtime_ns BIGINT NOT NULL,
    content_hash TEXT NOT NULL,
    tags TEXT NOT NULL,
    chunk_count INTEGER NOT NULL,
    indexed_at TEXT NOT NULL,
    archive {sorted} NOT NULL,
    included TEXT NOT NULL,
    names {blob} NOT NULL,
    links {blob} NOT NULL,
    facts TEXT NOT NULL);
CREATE INDEX documents_by_product ON documents (product, component, kind);
CREATE INDEX documents_by_content ON documents (content_hash);
CREATE INDEX documents_by_archive ON documents (archive) WHERE archive <> '';
CREATE INDEX documents_that_include ON documents (id) WHERE included <> '';
CREATE TABLE archives (
    file_path {sorted} PRIMARY KEY,
    size BIGINT NOT NULL,
    mtime_ns BIGINT NOT NULL,
    content_hash TEXT NOT NULL){compact};
CREATE TABLE texts (
    doc_id {key} REFERENCES documents (id) ON DELETE CASCADE,
    text {blob} NOT NULL,
    structure {blob} NOT NULL);
CREATE TABLE emails (
    doc_id {key} REFERENCES documents (id) ON DELETE CASCADE,
    thread_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    sender TEXT NOT NULL,
    has_attachments BOOLEAN NOT NULL,
    topic TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    recipients TEXT NOT NULL);
CREATE INDEX emails_by_thread ON emails (thread_id);
CREATE INDEX emails_by_topic ON emails {hashed} (topic);
CREATE INDEX emails_by_fingerprint ON emails (fingerprint);
CREATE TABLE mail_ids (
    message_id TEXT NOT NULL,
    doc_id BIGINT NOT NULL REFERENCES documents (id) ON DELETE CASCADE);
CREATE INDEX mail_ids_by_message ON mail_ids {hashed} (message_id);
CREATE INDEX mail_ids_by_document ON mail_ids (doc_id);
CREATE TABLE chunks (
    id {key},
    doc_id BIGINT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    text TEXT NOT NULL,
    hash TEXT NOT NULL,
    text_key BIGINT NOT NULL,
    facts TEXT NOT NULL);
CREATE UNIQUE INDEX chunks_by_document ON chunks (doc_id, ordinal);
CREATE INDEX chunks_by_hash ON chunks (hash);
CREATE INDEX chunks_by_text ON chunks (text_key, doc_id);
CREATE TABLE windows (
    chunk_id BIGINT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    model_id BIGINT NOT NULL,
    hashes TEXT NOT NULL,
    PRIMARY KEY (chunk_id, model_id)){compact};
CREATE TABLE failures (
    file_path {sorted} PRIMARY KEY,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    size BIGINT NOT NULL,
    mtime_ns BIGINT NOT NULL){compact};
INSERT INTO meta VALUES ('generation', '0'), ('changes', '0'), ('marks', '0'), ('forgotten', '0'),
    ('last_document', '0'), ('last_chunk', '0'), ('identity', '{identity}')
