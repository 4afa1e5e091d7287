/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.c - see store.h.
 *
 * SQLite keeps what was committed through kill -9 and power failure; this file holds the schema and
 * one function for each question. Statements are prepared where they are used: a message costs a
 * disk flush anyway. Which incarnation of a job a message belongs to is decided here, by its time,
 * inside the transaction that stores it.
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define SCHEMA_VERSION 1
#define BUSY_MS 5000
#define PORTION 256	 /* records read at once */
#define FORGET_AT_ONCE 8 /* portions of jobs forgotten in one transaction */
#define FORGET_RECORDS 512
#define S_TO_NS INT64_C(1000000000)

struct store {
	sqlite3 *db;
	sqlite3_stmt *rollback; /* made ready: it must not need memory */
	char *path;
	pthread_mutex_t lock;
};

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS maps (node TEXT NOT NULL, received_ns INTEGER NOT NULL,"
	" json TEXT NOT NULL, PRIMARY KEY (node, received_ns)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS jobs (key INTEGER PRIMARY KEY AUTOINCREMENT,"
	" job INTEGER NOT NULL, uid INTEGER NOT NULL,"
	" submit_s INTEGER NOT NULL DEFAULT 0, start_s INTEGER NOT NULL DEFAULT 0,"
	" end_s INTEGER NOT NULL DEFAULT 0, restarts INTEGER NOT NULL DEFAULT -1,"
	" array_job INTEGER, array_task INTEGER,"
	" began_ns INTEGER NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL,"
	" arrivals INTEGER NOT NULL DEFAULT 0, batch_ns INTEGER NOT NULL DEFAULT 0,"
	" open INTEGER NOT NULL DEFAULT 1, facts TEXT, look_ns INTEGER NOT NULL DEFAULT 0,"
	" field INTEGER NOT NULL DEFAULT 0, field_text TEXT, field_ns INTEGER NOT NULL DEFAULT 0,"
	" field_verified INTEGER NOT NULL DEFAULT 0, seen_arrivals INTEGER NOT NULL DEFAULT 0,"
	" tries INTEGER NOT NULL DEFAULT 0, next_ns INTEGER NOT NULL DEFAULT 0);"
	"CREATE INDEX IF NOT EXISTS jobs_by_id ON jobs (job);"
	"CREATE INDEX IF NOT EXISTS jobs_by_array ON jobs (array_job, array_task);"
	"CREATE INDEX IF NOT EXISTS jobs_open ON jobs (open) WHERE open;"
	"CREATE INDEX IF NOT EXISTS jobs_closed ON jobs (last_ns) WHERE NOT open;"
	"CREATE TABLE IF NOT EXISTS begins (key INTEGER NOT NULL, step INTEGER NOT NULL,"
	" node TEXT NOT NULL, uid INTEGER NOT NULL, node_index INTEGER NOT NULL,"
	" node_count INTEGER NOT NULL, class TEXT, began_ns INTEGER NOT NULL,"
	" received_ns INTEGER NOT NULL, PRIMARY KEY (key, step, node)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS records (id TEXT PRIMARY KEY, key INTEGER NOT NULL,"
	" step INTEGER NOT NULL, node TEXT NOT NULL, node_count INTEGER NOT NULL,"
	" began_ns INTEGER NOT NULL, received_ns INTEGER NOT NULL, json TEXT NOT NULL)"
	" WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS records_by_job ON records (key, step, node, id, node_count);";

/* ---- small things around SQLite ---- */

static int db_error(struct store *s, struct err *err)
{
	int code = sqlite3_errcode(s->db);
	int rc = code == SQLITE_NOMEM ? ENOMEM : code == SQLITE_FULL ? ENOSPC : EIO;

	return err_set(err, rc, "%s: %s", s->path, sqlite3_errmsg(s->db));
}

static int run(struct store *s, const char *sql, struct err *err)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : db_error(s, err);
}

/*
 * Prepares sql and binds what follows by the letters of types: 'i' int64_t, 's' const char * (NULL
 * binds NULL; must live until the statement is done). NULL and err on failure.
 */
static sqlite3_stmt *prepare(struct store *s, struct err *err, const char *sql, const char *types,
			     ...)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
	va_list ap;

	va_start(ap, types);
	for (int i = 0; rc == SQLITE_OK && types[i]; i++) {
		if (types[i] == 'i')
			rc = sqlite3_bind_int64(st, i + 1, va_arg(ap, int64_t));
		else
			rc = sqlite3_bind_text(st, i + 1, va_arg(ap, const char *), -1,
					       SQLITE_STATIC);
	}
	va_end(ap);
	if (rc == SQLITE_OK)
		return st;
	db_error(s, err);
	sqlite3_finalize(st);
	return NULL;
}

/* Runs a statement that gives no rows, and drops it. st may be NULL (err is set then). */
static int finish(struct store *s, sqlite3_stmt *st, struct err *err)
{
	int rc;

	if (!st)
		return -EIO;
	rc = sqlite3_step(st) == SQLITE_DONE ? 0 : db_error(s, err);
	sqlite3_finalize(st);
	return rc;
}

/* The next row: 1, 0 at the end, or a negative errno. */
static int next_row(struct store *s, sqlite3_stmt *st, struct err *err)
{
	int rc = sqlite3_step(st);

	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : db_error(s, err);
}

/* A text column, malloc'ed; NULL for NULL. *rc becomes -ENOMEM without memory. */
static char *text_column(sqlite3_stmt *st, int i, int *rc)
{
	const unsigned char *text = sqlite3_column_text(st, i);
	bool memory = !text && sqlite3_errcode(sqlite3_db_handle(st)) == SQLITE_NOMEM;
	char *copy = text ? strdup((const char *)text) : NULL;

	if (memory || (text && !copy))
		*rc = -ENOMEM;
	return copy;
}

/* A question with one number for an answer: 0, -ENOENT or another negative errno. */
static int one_number(struct store *s, sqlite3_stmt *st, int64_t *value, struct err *err)
{
	int rc;

	if (!st)
		return -EIO;
	rc = next_row(s, st, err);
	if (rc == 1)
		*value = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == 1 ? 0 : rc == 0 ? -ENOENT : rc;
}

static void roll_back(struct store *s)
{
	sqlite3_step(s->rollback);
	sqlite3_reset(s->rollback);
}

static int begin(struct store *s, struct err *err)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = run(s, "BEGIN IMMEDIATE", err);
	if (rc < 0)
		pthread_mutex_unlock(&s->lock);
	return rc;
}

/* Ends what begin() began: commits when rc is 0, rolls back otherwise. Returns the final rc. */
static int end(struct store *s, int rc, struct err *err)
{
	if (rc == 0)
		rc = run(s, "COMMIT", err);
	if (rc < 0)
		roll_back(s);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* ---- opening ---- */

static int check_version(struct store *s, struct err *err)
{
	int64_t version = 0;
	int rc = one_number(s, prepare(s, err, "PRAGMA user_version", ""), &version, err);

	if (rc < 0)
		return rc;
	if (version > SCHEMA_VERSION)
		return err_set(err, EPROTO,
			       "%s: written by a newer sfabricctld (version %lld, %d is known "
			       "here); update sfabricctld or move the file away",
			       s->path, (long long)version, SCHEMA_VERSION);
	return 0;
}

static int set_up(struct store *s, struct err *err)
{
	int64_t ok = 0;
	int rc = check_version(s, err);

	sqlite3_busy_timeout(s->db, BUSY_MS);
	if (rc == 0)
		rc = run(s,
			 "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
			 " PRAGMA journal_size_limit=67108864; BEGIN IMMEDIATE",
			 err);
	if (rc == 0)
		rc = run(s, schema, err);
	if (rc == 0)
		rc = run(s, "PRAGMA user_version=1; COMMIT", err);
	if (rc == 0)
		rc = one_number(s, prepare(s, err, "PRAGMA synchronous", ""), &ok, err);
	if (rc == 0 && ok < 2)
		rc = err_set(err, EIO, "%s: SQLite does not take synchronous=FULL", s->path);
	if (rc == 0)
		s->rollback = prepare(s, err, "ROLLBACK", "");
	return rc || s->rollback ? rc : -EIO;
}

/* SQLite gives new files the process's umask, which belongs to all threads: ours is made before. */
static int make_private(const char *path, struct err *err)
{
	int fd;

	if (!strcmp(path, ":memory:")) /* SQLite's name for no file at all */
		return 0;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	close(fd);
	return 0;
}

struct store *store_open(const char *path, struct err *err)
{
	struct store *s = calloc(1, sizeof(*s));
	int rc;

	if (s)
		s->path = strdup(path);
	if (!s || !s->path) {
		free(s);
		err_set(err, ENOMEM, "%s: out of memory", path);
		return NULL;
	}
	pthread_mutex_init(&s->lock, NULL);
	rc = make_private(path, err);
	if (rc == 0)
		rc = sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX,
				     NULL) == SQLITE_OK
			     ? set_up(s, err)
			     : db_error(s, err);
	if (rc == 0)
		return s;
	store_close(s);
	return NULL;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	sqlite3_finalize(s->rollback);
	sqlite3_close(s->db);
	pthread_mutex_destroy(&s->lock);
	free(s->path);
	free(s);
}

void store_begin_clear(struct store_begin *b)
{
	free(b->node);
	free(b->class);
	memset(b, 0, sizeof(*b));
}

void store_job_clear(struct store_job *j)
{
	free(j->facts);
	free(j->field_text);
	memset(j, 0, sizeof(*j));
}

/* ---- maps ---- */

static int insert_map(struct store *s, const char *node, const char *json, int64_t now_ns,
		      struct err *err)
{
	int rc = finish(s,
			prepare(s, err, "INSERT OR REPLACE INTO maps VALUES (?, ?, ?)", "sis", node,
				now_ns, json),
			err);

	if (rc < 0)
		return rc;
	return finish(
		s,
		prepare(s, err,
			"DELETE FROM maps WHERE node = ? AND received_ns NOT IN (SELECT received_ns"
			" FROM maps WHERE node = ? ORDER BY received_ns DESC LIMIT ?)",
			"ssi", node, node, (int64_t)STORE_MAPS_PER_NODE),
		err);
}

int store_put_map(struct store *s, const char *node, const char *json, int64_t now_ns,
		  struct err *err)
{
	int64_t same = 0;
	int rc = begin(s, err);

	if (rc < 0)
		return rc;
	rc = one_number(s,
			prepare(s, err,
				"SELECT json = ? FROM maps WHERE node = ?"
				" ORDER BY received_ns DESC LIMIT 1",
				"ss", json, node),
			&same, err);
	if (rc == -ENOENT || (rc == 0 && !same))
		rc = insert_map(s, node, json, now_ns, err);
	return end(s, rc, err);
}

int store_get_map(struct store *s, const char *node, int64_t at_ns, char **json, struct err *err)
{
	int64_t at = at_ns ? at_ns : INT64_MAX;
	sqlite3_stmt *st;
	int rc = -EIO, memory = 0;

	*json = NULL;
	pthread_mutex_lock(&s->lock);
	st = prepare(s, err,
		     "SELECT json FROM maps WHERE node = ?1 ORDER BY received_ns > ?2,"
		     " CASE WHEN received_ns > ?2 THEN received_ns ELSE -received_ns END LIMIT 1",
		     "si", node, at);
	if (st) {
		rc = next_row(s, st, err);
		if (rc == 1)
			*json = text_column(st, 0, &memory);
		sqlite3_finalize(st);
	}
	pthread_mutex_unlock(&s->lock);
	if (memory < 0)
		return err_set(err, ENOMEM, "out of memory");
	return rc == 1	 ? 0
	       : rc == 0 ? err_set(err, ENOENT, "no map of node \"%s\" is known", node)
			 : rc;
}

/* ---- begins and records ---- */

/*
 * The incarnation of job that was alive at at_ns: the one with the latest start not after it, if it
 * had not ended long before; one that Slurm has not told of yet stands for any.
 */
static int pick_job(struct store *s, uint32_t job, int64_t at_ns, int64_t *key, struct err *err)
{
	int64_t latest_s = at_ns / S_TO_NS + STORE_CLOCK_SLACK_S; /* at_ns may be anything */
	int64_t earliest_s = at_ns / S_TO_NS - STORE_CLOCK_SLACK_S;

	return one_number(
		s,
		prepare(s, err,
			"SELECT key FROM jobs WHERE job = ? AND start_s <= ?"
			" AND (end_s = 0 OR end_s >= ?) ORDER BY start_s DESC, key DESC LIMIT 1",
			"iii", (int64_t)job, latest_s, earliest_s),
		key, err);
}

/* A job that no row knows, and that began so long ago that its row may have been forgotten. */
static int check_age(struct store *s, uint32_t job, int64_t at_ns, int64_t now_ns, struct err *err)
{
	int64_t known = 0;
	int rc;

	if (at_ns / S_TO_NS >= now_ns / S_TO_NS - STORE_KEEP_S)
		return 0;
	rc = one_number(
		s, prepare(s, err, "SELECT 1 FROM jobs WHERE job = ? LIMIT 1", "i", (int64_t)job),
		&known, err);
	if (rc == -ENOENT)
		return err_set(err, ESTALE, "job %u began more than %d days ago and is forgotten",
			       job, STORE_KEEP_S / 86400);
	return rc;
}

static int find_or_make_job(struct store *s, uint32_t job, uint32_t uid, int64_t at_ns, bool opens,
			    int64_t now_ns, int64_t *key, struct err *err)
{
	int rc = pick_job(s, job, at_ns, key, err);

	if (rc != -ENOENT)
		return rc;
	rc = check_age(s, job, at_ns, now_ns, err);
	if (rc < 0)
		return rc;
	rc = finish(s,
		    prepare(s, err,
			    "INSERT INTO jobs (job, uid, began_ns, first_ns, last_ns, open)"
			    " VALUES (?, ?, ?, ?, ?, ?)",
			    "iiiiii", (int64_t)job, (int64_t)uid, at_ns, now_ns, now_ns,
			    (int64_t)opens),
		    err);
	*key = sqlite3_last_insert_rowid(s->db);
	return rc;
}

/* Counts a message that was news, and opens the job (again). */
static int note_arrival(struct store *s, int64_t key, bool batch, bool opens, int64_t now_ns,
			struct err *err)
{
	return finish(s,
		      prepare(s, err,
			      "UPDATE jobs SET arrivals = arrivals + 1, last_ns = ?1,"
			      " batch_ns = CASE WHEN ?2 THEN ?1 ELSE batch_ns END,"
			      " open = max(open, ?4) WHERE key = ?3",
			      "iiii", now_ns, (int64_t)batch, key, (int64_t)opens),
		      err);
}

static int insert_begin(struct store *s, const struct store_begin *b, int64_t now_ns,
			struct err *err)
{
	int64_t key = 0;
	int rc = find_or_make_job(s, b->job, b->uid, b->began_ns, true, now_ns, &key, err);

	if (rc == 0)
		rc = finish(s,
			    prepare(s, err,
				    "INSERT OR IGNORE INTO begins VALUES (?,?,?,?,?,?,?,?,?)",
				    "iisiiisii", key, (int64_t)b->step, b->node, (int64_t)b->uid,
				    (int64_t)b->node_index, (int64_t)b->node_count, b->class,
				    b->began_ns, now_ns),
			    err);
	if (rc == 0 && sqlite3_changes(s->db) > 0)
		rc = note_arrival(s, key, false, true, now_ns, err);
	return rc;
}

int store_put_begin(struct store *s, const struct store_begin *b, int64_t now_ns, struct err *err)
{
	int rc = begin(s, err);

	return rc < 0 ? rc : end(s, insert_begin(s, b, now_ns, err), err);
}

static int insert_record(struct store *s, const struct record *r, const char *json, bool opens,
			 int64_t now_ns, struct err *err)
{
	int64_t key = 0, known = 0;
	int rc = one_number(s, prepare(s, err, "SELECT 1 FROM records WHERE id = ?", "s", r->id),
			    &known, err);

	if (rc != -ENOENT)
		return rc;
	rc = find_or_make_job(s, r->job, r->uid, r->begin_ns, opens, now_ns, &key, err);
	if (rc == 0)
		rc = finish(s,
			    prepare(s, err, "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
				    "siisiiis", r->id, key, (int64_t)r->step, r->node,
				    (int64_t)r->node_count, r->begin_ns, now_ns, json),
			    err);
	if (rc == 0)
		rc = note_arrival(s, key, r->step == STEP_ID_BATCH, opens, now_ns, err);
	return rc;
}

int store_put_record(struct store *s, const struct record *r, const char *json, bool opens,
		     int64_t now_ns, struct err *err)
{
	int rc = begin(s, err);

	return rc < 0 ? rc : end(s, insert_record(s, r, json, opens, now_ns, err), err);
}

/* The place in a job's records up to which they were handed over. */
struct place {
	int64_t step;
	char *node, *id;
};

static void place_clear(struct place *p)
{
	free(p->node);
	free(p->id);
	p->node = p->id = NULL;
}

/* Reads texts of the next records; *count 0 at the end. The lock is held. */
static int read_portion(struct store *s, int64_t key, struct place *p, char *texts[PORTION],
			size_t *count, struct err *err)
{
	sqlite3_stmt *st =
		prepare(s, err,
			"SELECT json, step, node, id FROM records WHERE key = ?"
			" AND (step, node, id) > (?, ?, ?) ORDER BY step, node, id LIMIT ?",
			"iissi", key, p->step, p->node ? p->node : "", p->id ? p->id : "",
			(int64_t)PORTION);
	struct place next = { 0 };
	int rc = -EIO;

	*count = 0;
	while (st && (rc = next_row(s, st, err)) == 1) {
		place_clear(&next);
		next.step = sqlite3_column_int64(st, 1);
		next.node = text_column(st, 2, &rc);
		next.id = text_column(st, 3, &rc);
		texts[*count] = text_column(st, 0, &rc);
		*count += texts[*count] != NULL;
		if (rc < 0)
			break;
	}
	sqlite3_finalize(st);
	if (*count) {
		place_clear(p);
		*p = next;
	} else {
		place_clear(&next);
	}
	return rc == -ENOMEM ? err_set(err, ENOMEM, "out of memory") : rc;
}

int store_each_record(struct store *s, int64_t key, store_take *take, void *arg, struct err *err)
{
	struct place place = { .step = -1 };
	char *texts[PORTION];
	size_t count = 0;
	int rc;

	do {
		pthread_mutex_lock(&s->lock);
		rc = read_portion(s, key, &place, texts, &count, err);
		pthread_mutex_unlock(&s->lock);
		for (size_t i = 0; i < count; i++) {
			if (rc == 0)
				rc = take(arg, texts[i]);
			free(texts[i]);
		}
	} while (rc == 0 && count == PORTION);
	place_clear(&place);
	return rc;
}

int store_complete(struct store *s, int64_t key, bool *complete, struct err *err)
{
	int64_t is = 0;
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = one_number(
		s,
		prepare(s, err,
			"WITH r AS (SELECT step, count(DISTINCT node) AS reported,"
			" max(node_count) AS nodes FROM records WHERE key = ?1 GROUP BY step),"
			" b AS (SELECT step, max(node_count) AS nodes FROM begins WHERE key = ?1"
			" GROUP BY step),"
			" steps AS (SELECT r.step, reported, max(r.nodes, ifnull(b.nodes, 0)) AS "
			"nodes"
			" FROM r LEFT JOIN b USING (step)"
			" UNION ALL SELECT step, 0, nodes FROM b WHERE step NOT IN (SELECT step "
			"FROM r))"
			" SELECT count(*) > 0 AND total(reported < nodes OR nodes = 0) = 0 FROM "
			"steps",
			"i", key),
		&is, err);
	pthread_mutex_unlock(&s->lock);
	*complete = rc == 0 && is;
	return rc;
}

static int read_begin(sqlite3_stmt *st, struct store_begin *b)
{
	int rc = 0;

	memset(b, 0, sizeof(*b));
	b->job = (uint32_t)sqlite3_column_int64(st, 0);
	b->step = (uint32_t)sqlite3_column_int64(st, 1);
	b->node = text_column(st, 2, &rc);
	b->uid = (uint32_t)sqlite3_column_int64(st, 3);
	b->node_index = (uint32_t)sqlite3_column_int64(st, 4);
	b->node_count = (uint32_t)sqlite3_column_int64(st, 5);
	b->class = text_column(st, 6, &rc);
	b->began_ns = sqlite3_column_int64(st, 7);
	return rc;
}

int store_get_begins(struct store *s, int64_t key, struct store_begin **begins, size_t *count,
		     struct err *err)
{
	struct store_begin *out = NULL;
	sqlite3_stmt *st;
	size_t n = 0;
	int rc = -EIO;

	pthread_mutex_lock(&s->lock);
	st = prepare(s, err,
		     "SELECT job, step, node, begins.uid, node_index, node_count, class,"
		     " begins.began_ns FROM begins JOIN jobs USING (key) WHERE key = ? ORDER BY "
		     "step, node"
		     " LIMIT ?",
		     "ii", key, (int64_t)STORE_MAX_BEGINS);
	while (st && (rc = next_row(s, st, err)) == 1) {
		struct store_begin *grown = reallocarray(out, n + 1, sizeof(*out));

		rc = grown ? 0 : -ENOMEM;
		if (grown)
			out = grown;
		if (rc == 0)
			rc = read_begin(st, &out[n++]);
		if (rc < 0)
			break;
	}
	sqlite3_finalize(st);
	pthread_mutex_unlock(&s->lock);
	*begins = out;
	*count = n;
	if (rc == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		store_begin_clear(&out[i]);
	free(out);
	*begins = NULL;
	*count = 0;
	return rc == -ENOMEM ? err_set(err, ENOMEM, "out of memory") : rc;
}

/* ---- jobs ---- */

static int find(struct store *s, sqlite3_stmt *st, int64_t *key, struct err *err)
{
	int rc = one_number(s, st, key, err);

	return rc == -ENOENT ? err_set(err, ENOENT, "no such job is known") : rc;
}

int store_find_job(struct store *s, uint32_t job, int64_t *key, struct err *err)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = find(s,
		  prepare(s, err,
			  "SELECT key FROM jobs WHERE job = ? ORDER BY began_ns DESC, key DESC"
			  " LIMIT 1",
			  "i", (int64_t)job),
		  key, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int store_find_task(struct store *s, uint32_t array_job, uint32_t array_task, int64_t *key,
		    struct err *err)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = find(s,
		  prepare(s, err,
			  "SELECT key FROM jobs WHERE array_job = ? AND array_task = ?"
			  " ORDER BY began_ns DESC, key DESC LIMIT 1",
			  "ii", (int64_t)array_job, (int64_t)array_task),
		  key, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static int read_job(sqlite3_stmt *st, struct store_job *j)
{
	int rc = 0;

	j->key = sqlite3_column_int64(st, 0);
	j->job = (uint32_t)sqlite3_column_int64(st, 1);
	j->uid = (uint32_t)sqlite3_column_int64(st, 2);
	j->first_ns = sqlite3_column_int64(st, 3);
	j->last_ns = sqlite3_column_int64(st, 4);
	j->arrivals = sqlite3_column_int64(st, 5);
	j->batch_ns = sqlite3_column_int64(st, 6);
	j->open = sqlite3_column_int64(st, 7) != 0;
	j->facts = text_column(st, 8, &rc);
	j->look_ns = sqlite3_column_int64(st, 9);
	j->field = (enum field_state)sqlite3_column_int64(st, 10);
	j->field_text = text_column(st, 11, &rc);
	j->field_ns = sqlite3_column_int64(st, 12);
	j->field_verified = sqlite3_column_int64(st, 13) != 0;
	j->seen_arrivals = sqlite3_column_int64(st, 14);
	j->tries = sqlite3_column_int64(st, 15);
	j->next_ns = sqlite3_column_int64(st, 16);
	j->began_ns = sqlite3_column_int64(st, 17);
	return rc;
}

int store_get_job(struct store *s, int64_t key, struct store_job *job, struct err *err)
{
	sqlite3_stmt *st;
	int rc = -EIO, memory = 0;

	memset(job, 0, sizeof(*job));
	pthread_mutex_lock(&s->lock);
	st = prepare(s, err,
		     "SELECT key, job, uid, first_ns, last_ns, arrivals, batch_ns, open, facts,"
		     " look_ns, field, field_text, field_ns, field_verified, seen_arrivals, tries, "
		     "next_ns, began_ns"
		     " FROM jobs WHERE key = ?",
		     "i", key);
	if (st) {
		rc = next_row(s, st, err);
		if (rc == 1)
			memory = read_job(st, job);
		sqlite3_finalize(st);
	}
	pthread_mutex_unlock(&s->lock);
	if (memory < 0) {
		store_job_clear(job);
		return err_set(err, ENOMEM, "out of memory");
	}
	return rc == 1 ? 0 : rc == 0 ? err_set(err, ENOENT, "no such job is known") : rc;
}

int store_open_jobs(struct store *s, int64_t **keys, size_t *count, struct err *err)
{
	int64_t *out = NULL;
	sqlite3_stmt *st;
	size_t n = 0;
	int rc = -EIO;

	pthread_mutex_lock(&s->lock);
	st = prepare(s, err, "SELECT key FROM jobs WHERE open ORDER BY key", "");
	while (st && (rc = next_row(s, st, err)) == 1) {
		int64_t *grown = reallocarray(out, n + 1, sizeof(*out));

		if (!grown) {
			rc = err_set(err, ENOMEM, "out of memory");
			break;
		}
		out = grown;
		out[n++] = sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	pthread_mutex_unlock(&s->lock);
	if (rc < 0) {
		free(out);
		out = NULL;
		n = 0;
	}
	*keys = out;
	*count = n;
	return rc;
}

int store_save_job(struct store *s, const struct store_job *j, struct err *err)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = finish(s,
		    prepare(s, err,
			    "UPDATE jobs SET look_ns = ?, field = ?, field_text = ?, field_ns = ?,"
			    " field_verified = ?, seen_arrivals = ?, tries = ?, next_ns = ? WHERE "
			    "key = ?",
			    "iisiiiiii", j->look_ns, (int64_t)j->field, j->field_text, j->field_ns,
			    (int64_t)j->field_verified, j->seen_arrivals, j->tries, j->next_ns,
			    j->key),
		    err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* Moves the messages of one row to another and drops the row. */
static int join_rows(struct store *s, int64_t from, int64_t to, struct err *err)
{
	int rc = finish(s,
			prepare(s, err, "UPDATE records SET key = ? WHERE key = ?", "ii", to, from),
			err);

	if (rc == 0)
		rc = finish(s,
			    prepare(s, err, "UPDATE OR REPLACE begins SET key = ? WHERE key = ?",
				    "ii", to, from),
			    err);
	if (rc == 0)
		rc = finish(s,
			    prepare(s, err,
				    "UPDATE jobs SET open = 1, arrivals = arrivals +"
				    " (SELECT arrivals FROM jobs WHERE key = ?) WHERE key = ?",
				    "ii", from, to),
			    err);
	if (rc == 0)
		rc = finish(s, prepare(s, err, "DELETE FROM jobs WHERE key = ?", "i", from), err);
	return rc;
}

static int set_facts(struct store *s, int64_t *key, const struct store_identity *id,
		     const char *facts, struct err *err)
{
	int64_t other = 0;
	int rc = one_number(s,
			    prepare(s, err,
				    "SELECT key FROM jobs WHERE job = ?1 AND submit_s = ?2 AND"
				    " (restarts = ?3 OR restarts = -1 OR ?3 = -1) AND key <> ?4"
				    " ORDER BY restarts = ?3 DESC, key LIMIT 1",
				    "iiii", (int64_t)id->job, id->submit_s, id->restarts, *key),
			    &other, err);

	if (rc == 0) {
		rc = join_rows(s, *key, other, err);
		*key = other;
	} else if (rc == -ENOENT) {
		rc = 0;
	}
	if (rc == 0)
		rc = finish(
			s,
			prepare(s, err,
				"UPDATE jobs SET facts = ?, submit_s = ?, start_s = ?, end_s = ?,"
				" restarts = max(restarts, ?) WHERE key = ?",
				"siiiii", facts, id->submit_s, id->start_s, id->end_s, id->restarts,
				*key), /* slurmdbd does not know restarts: -1 */
			err);
	if (rc == 0 && id->array)
		rc = finish(s,
			    prepare(s, err,
				    "UPDATE jobs SET array_job = ?, array_task = ? WHERE key = ?",
				    "iii", (int64_t)id->array_job, (int64_t)id->array_task, *key),
			    err);
	return rc;
}

int store_set_facts(struct store *s, int64_t *key, const struct store_identity *id,
		    const char *facts, struct err *err)
{
	int rc = begin(s, err);

	return rc < 0 ? rc : end(s, set_facts(s, key, id, facts, err), err);
}

/* A new row for what of key began at at_ns or later; *made stays 0 when there is nothing. */
static int split_row(struct store *s, int64_t key, int64_t at_ns, int64_t *made, struct err *err)
{
	int64_t messages = 0;
	int rc = one_number(
		s,
		prepare(s, err,
			"SELECT (SELECT count(*) FROM records WHERE key = ?1 AND"
			" began_ns >= ?2) + (SELECT count(*) FROM begins WHERE key = ?1 AND"
			" began_ns >= ?2)",
			"ii", key, at_ns),
		&messages, err);

	if (rc < 0 || messages == 0)
		return rc;
	rc = finish(s,
		    prepare(s, err,
			    "INSERT INTO jobs (job, uid, began_ns, first_ns, last_ns, arrivals)"
			    " SELECT job, uid, ?, last_ns, last_ns, ? FROM jobs WHERE key = ?",
			    "iii", at_ns, messages, key),
		    err);
	*made = sqlite3_last_insert_rowid(s->db);
	if (rc == 0)
		rc = finish(s,
			    prepare(s, err,
				    "UPDATE records SET key = ? WHERE key = ? AND began_ns >= ?",
				    "iii", *made, key, at_ns),
			    err);
	if (rc == 0)
		rc = finish(s,
			    prepare(s, err,
				    "UPDATE begins SET key = ? WHERE key = ? AND began_ns >= ?",
				    "iii", *made, key, at_ns),
			    err);
	return rc;
}

int store_supersede(struct store *s, int64_t key, int64_t end_s, struct err *err)
{
	int64_t made = 0;
	int rc = begin(s, err);

	if (rc < 0)
		return rc;
	rc = split_row(s, key, end_s * S_TO_NS, &made, err);
	if (rc == 0)
		rc = finish(s,
			    prepare(s, err,
				    "UPDATE jobs SET end_s = ?, open = 0, field = ?,"
				    " seen_arrivals = arrivals WHERE key = ?",
				    "iii", end_s, (int64_t)FIELD_SUPERSEDED, key),
			    err);
	return end(s, rc, err);
}

int store_close_job(struct store *s, int64_t key, struct err *err)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = finish(s,
		    prepare(s, err,
			    "UPDATE jobs SET open = 0 WHERE key = ? AND arrivals = seen_arrivals",
			    "i", key),
		    err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* ---- forgetting ---- */

/* The bytes of the file that hold something. */
static int used_bytes(struct store *s, int64_t *bytes, struct err *err)
{
	int64_t pages = 0, unused = 0, size = 0;
	int rc = one_number(s, prepare(s, err, "PRAGMA page_count", ""), &pages, err);

	rc = rc ? rc : one_number(s, prepare(s, err, "PRAGMA freelist_count", ""), &unused, err);
	rc = rc ? rc : one_number(s, prepare(s, err, "PRAGMA page_size", ""), &size, err);
	*bytes = (pages - unused) * size;
	return rc;
}

/* Removes a portion of a job's records and, with the last one, the job. */
static int forget_job(struct store *s, int64_t key, struct err *err)
{
	int rc = finish(s,
			prepare(s, err,
				"DELETE FROM records WHERE id IN"
				" (SELECT id FROM records WHERE key = ? LIMIT ?)",
				"ii", key, (int64_t)FORGET_RECORDS),
			err);

	if (rc < 0 || sqlite3_changes(s->db) == FORGET_RECORDS)
		return rc;
	rc = finish(s, prepare(s, err, "DELETE FROM begins WHERE key = ?", "i", key), err);
	return rc ? rc
		  : finish(s, prepare(s, err, "DELETE FROM jobs WHERE key = ?", "i", key), err);
}

/* Forgets the closed job that was silent longest, if it may go. 1: it did; 0: none may. */
static int forget_one(struct store *s, int64_t now_ns, int64_t max_bytes, struct err *err)
{
	int64_t key = 0, bytes = 0, silent_ns = now_ns - STORE_KEEP_S * S_TO_NS;
	int rc = used_bytes(s, &bytes, err);

	if (rc == 0)
		rc = one_number(s,
				prepare(s, err,
					"SELECT key FROM jobs WHERE NOT open AND last_ns < ?"
					" ORDER BY last_ns LIMIT 1",
					"i", bytes > max_bytes ? INT64_MAX : silent_ns),
				&key, err);
	if (rc == -ENOENT)
		return 0;
	rc = rc ? rc : forget_job(s, key, err);
	return rc ? rc : 1;
}

int store_forget(struct store *s, int64_t now_ns, int64_t max_bytes, bool *more, struct err *err)
{
	int rc = begin(s, err), went = 1;

	*more = false;
	if (rc < 0)
		return rc;
	for (int i = 0; went == 1 && i < FORGET_AT_ONCE; i++)
		went = forget_one(s, now_ns, max_bytes, err);
	*more = went == 1;
	return end(s, went < 0 ? went : 0, err);
}
