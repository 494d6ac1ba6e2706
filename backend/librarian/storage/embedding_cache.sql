CREATE TABLE models (id {key}, fingerprint TEXT NOT NULL UNIQUE, dimension INTEGER NOT NULL);
CREATE TABLE vectors (
    model BIGINT NOT NULL, hash TEXT NOT NULL, last_used INTEGER NOT NULL, vector {blob} NOT NULL);
CREATE UNIQUE INDEX vectors_by_hash ON vectors (model, hash)
