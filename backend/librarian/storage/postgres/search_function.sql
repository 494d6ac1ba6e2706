CREATE FUNCTION hybrid_search_chunks(
    query_embedding vector, query_text text, match_count integer DEFAULT 10, source_filter text DEFAULT NULL)
RETURNS TABLE (chunk_id bigint, file_path text, product text, content text,
    similarity double precision, text_rank double precision, combined_score double precision, match_type text)
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET librarian.text_search FROM CURRENT AS $body$
DECLARE
    windows_table text;
    asked tsquery := websearch_to_tsquery(current_setting('librarian.text_search')::regconfig, query_text);
BEGIN
    SELECT t.name INTO windows_table
    FROM vector_tables t JOIN meta m ON m.key = 'model' AND m.value = t.model;
    IF windows_table IS NULL THEN
        RAISE EXCEPTION 'No vectors lie in this database' USING
            HINT = 'They do where vector_db.store is pgvector, once passages are embedded.';
    END IF;
    RETURN QUERY EXECUTE format($query$
        WITH by_meaning AS (
            SELECT w.id / 64 AS chunk, max(1 - (w.vector <=> $1::halfvec)) AS cosine
            FROM (SELECT v.id, v.vector FROM %I v
                  WHERE $4::text IS NULL OR EXISTS (
                      SELECT FROM chunks c JOIN documents d ON d.id = c.doc_id
                      WHERE c.id = v.id / 64 AND d.product = $4)
                  ORDER BY v.vector <=> $1::halfvec LIMIT 100) w
            GROUP BY 1 HAVING max(1 - (w.vector <=> $1::halfvec)) >= 0.05),
        by_words AS (
            SELECT e.chunk_id AS chunk, ts_rank(e.search, $2, 32)::double precision AS rank
            FROM entries e JOIN documents d ON d.id = e.doc_id
            WHERE e.search @@ $2 AND ($4::text IS NULL OR d.product = $4)
            ORDER BY rank DESC, e.chunk_id LIMIT 100),
        found AS (
            SELECT coalesce(m.chunk, t.chunk) AS chunk,
                coalesce(m.cosine, 0)::double precision AS cosine,
                coalesce(t.rank, 0) AS rank,
                CASE WHEN t.chunk IS NULL THEN 'vector' WHEN m.chunk IS NULL THEN 'text' ELSE 'both' END AS kind
            FROM by_meaning m FULL JOIN by_words t ON t.chunk = m.chunk)
        SELECT c.id, d.file_path::text, d.product::text, c.text, f.cosine, f.rank,
            0.7 * f.cosine + 0.3 * f.rank, f.kind
        FROM found f JOIN chunks c ON c.id = f.chunk JOIN documents d ON d.id = c.doc_id
        ORDER BY 7 DESC, 1 LIMIT $3
    $query$, windows_table) USING query_embedding, asked, match_count, source_filter;
END $body$
