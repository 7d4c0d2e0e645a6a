CREATE TABLE IF NOT EXISTS "fila_jobs" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "payload" TEXT NOT NULL,
  "status" TEXT NOT NULL DEFAULT 'pending',
  "lease_until" INTEGER,
  "fence" INTEGER NOT NULL DEFAULT 0,
  "owner" TEXT,
  "failures" INTEGER NOT NULL DEFAULT 0,
  "crashes" INTEGER NOT NULL DEFAULT 0,
  "due_at" INTEGER NOT NULL DEFAULT 0,
  "priority" INTEGER NOT NULL DEFAULT 0,
  "last_error" TEXT
);
CREATE INDEX IF NOT EXISTS "fila_jobs_fila_next" ON "fila_jobs" ("priority", "due_at", "id") WHERE "status" = 'pending';
CREATE INDEX IF NOT EXISTS "fila_jobs_fila_stale" ON "fila_jobs" ("lease_until") WHERE "status" = 'processing';
