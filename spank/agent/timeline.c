/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timeline.c - see timeline.h.
 *
 * SQLite does the work: this file is its schema, the packing of a row, and care. While it is
 * written the file is in WAL mode with a small cache (a node may have many steps); finishing folds
 * the WAL back, so that what is kept is one file.
 */
#include "timeline.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"

#define PAGE 4096
#define FILES_MAX 65536

static const char schema[] =
	"PRAGMA page_size=4096;"
	"PRAGMA locking_mode=EXCLUSIVE;" /* nobody else reads it while it grows: no locks, no shm */
	"PRAGMA journal_mode=WAL;"
	"PRAGMA synchronous=OFF;"
	"PRAGMA cache_size=16;"
	"PRAGMA wal_autocheckpoint=64;"
	"BEGIN;"
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value);"
	"CREATE TABLE series (id INTEGER PRIMARY KEY, source TEXT, name TEXT, device TEXT,"
	" meaning TEXT, unit TEXT, scale INTEGER, scope TEXT, width INTEGER, behaviour TEXT,"
	" rare INTEGER);"
	"CREATE TABLE samples (t_ns INTEGER, mono_ns INTEGER, kind TEXT, counts BLOB);"
	"COMMIT;";

static const char *const kinds[] = { "begin", "grid", "end" };

struct timeline {
	sqlite3 *db;
	sqlite3_stmt *insert;
	char *path, *wal;
	bool made; /* the file is ours */
	size_t series_count;
};

static int fail(sqlite3 *db, const char *path, const char *what, struct err *err)
{
	int code = sqlite3_errcode(db);

	/* A full disk is SQLITE_FULL as well as our own limit is. */
	if (code == SQLITE_FULL)
		code = sqlite3_system_errno(db) == ENOSPC ? ENOSPC : EFBIG;
	else if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
		code = EPROTO;
	else
		code = code == SQLITE_NOMEM ? ENOMEM : EIO;
	return err_set(err, code, "%s: %s: %s", path, what, sqlite3_errmsg(db));
}

static int set_meta(sqlite3 *db, const char *path, const char *key, const char *value,
		    struct err *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO meta VALUES (?1, ?2)", -1, &st,
				    NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(st, 2, value, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	rc = rc == SQLITE_DONE ? 0 : fail(db, path, "meta", err);
	sqlite3_finalize(st);
	return rc;
}

static int set_record(sqlite3 *db, const char *path, const struct record *record, struct err *err)
{
	char *line = record_line(record);
	int rc;

	if (!line)
		return err_set(err, ENOMEM, "%s: out of memory", path);
	rc = set_meta(db, path, "record", line, err);
	free(line);
	return rc;
}

static int set_head(struct timeline *t, const struct record *head, struct err *err)
{
	char version[12], boot[37];
	int rc = io_boot_id(boot, err);

	sqlite3_snprintf(sizeof(version), version, "%d", TIMELINE_VERSION);
	rc = rc ? rc : set_meta(t->db, t->path, "format", TIMELINE_FORMAT, err);
	rc = rc ? rc : set_meta(t->db, t->path, "version", version, err);
	rc = rc ? rc : set_meta(t->db, t->path, "boot_id", boot, err);
	return rc ? rc : set_record(t->db, t->path, head, err);
}

/* SQLite gives new files the process's umask; ours are 0600 whatever that is. */
static int make_private(const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_set(err, errno, "%s: can't be made: %s", path, strerror(errno));
	close(fd);
	return 0;
}

static int limit_size(struct timeline *t, uint64_t max_bytes, struct err *err)
{
	uint64_t pages = max_bytes / PAGE;
	char sql[64];

	sqlite3_snprintf(sizeof(sql), sql, "PRAGMA max_page_count=%llu",
			 pages < 16	      ? 16ull
			 : pages > 0x3fffffff ? 0x3fffffffull
					      : pages);
	if (sqlite3_exec(t->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return fail(t->db, t->path, "size", err);
	return 0;
}

/* What is not finished keeps its WAL, by which the next run knows that it must look. */
static void keep_wal(sqlite3 *db)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

static int open_new(struct timeline *t, struct err *err)
{
	int rc = make_private(t->path, err);

	if (rc < 0)
		return rc;
	t->made = true;
	if (sqlite3_open_v2(t->path, &t->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		return fail(t->db, t->path, "open", err);
	keep_wal(t->db);
	if (sqlite3_exec(t->db, schema, NULL, NULL, NULL) != SQLITE_OK)
		return fail(t->db, t->path, "schema", err);
	return 0;
}

static struct timeline *timeline_new(const char *path, struct err *err)
{
	struct timeline *t = calloc(1, sizeof(*t));

	if (t && (t->path = strdup(path)) && (t->wal = io_format("%s-wal", path)))
		return t;
	err_set(err, ENOMEM, "%s: out of memory", path);
	timeline_free(t);
	return NULL;
}

/* Ready for samples, the last step of both ways to one. */
static int make_ready(struct timeline *t, uint64_t max_bytes, struct err *err)
{
	static const char insert[] = "INSERT INTO samples VALUES (?1, ?2, ?3, ?4)";
	int rc = limit_size(t, max_bytes, err);

	if (rc == 0 && sqlite3_prepare_v2(t->db, insert, -1, &t->insert, NULL) != SQLITE_OK)
		rc = fail(t->db, t->path, "samples", err);
	return rc;
}

struct timeline *timeline_create(const char *path, const struct record *head, uint64_t max_bytes,
				 struct err *err)
{
	struct timeline *t = timeline_new(path, err);
	int rc;

	if (!t)
		return NULL;
	rc = open_new(t, err);
	rc = rc ? rc : set_head(t, head, err);
	rc = rc ? rc : make_ready(t, max_bytes, err);
	if (rc == 0)
		return t;
	if (t->made)
		timeline_discard(t);
	else
		timeline_free(t);
	errno = -rc;
	return NULL;
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	sqlite3_finalize(t->insert);
	sqlite3_close(t->db);
	free(t->path);
	free(t->wal);
	free(t);
}

void timeline_discard(struct timeline *t)
{
	unlink(t->path);
	unlink(t->wal);
	timeline_free(t);
}

int timeline_add_series(struct timeline *t, const struct series *s, struct err *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(
		t->db, "INSERT INTO series VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)", -1, &st,
		NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, (int64_t)t->series_count);
		sqlite3_bind_text(st, 2, s->source, -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 3, s->name, -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 4, s->device, -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 5, meaning_name(s->meaning), -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 6, meaning_unit(s->meaning), -1, SQLITE_STATIC);
		sqlite3_bind_int64(st, 7, s->scale);
		sqlite3_bind_text(st, 8, series_scope_name(s->scope), -1, SQLITE_STATIC);
		sqlite3_bind_int(st, 9, s->width);
		sqlite3_bind_text(st, 10, series_behaviour_name(s->behaviour), -1, SQLITE_STATIC);
		sqlite3_bind_int(st, 11, s->rare);
		rc = sqlite3_step(st);
	}
	rc = rc == SQLITE_DONE ? 0 : fail(t->db, t->path, "series", err);
	sqlite3_finalize(st);
	if (rc == 0)
		t->series_count++;
	return rc;
}

unsigned char *timeline_pack(const uint64_t *values, const bool *valid, size_t count, size_t *len)
{
	size_t bitmap = (count + 7) / 8;
	unsigned char *blob;

	*len = bitmap + count * sizeof(*values);
	blob = calloc(1, *len + 1);
	if (!blob)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		uint64_t little = htole64(valid[i] ? values[i] : 0);

		blob[i / 8] |= (unsigned char)(valid[i] ? 1u << i % 8 : 0);
		memcpy(blob + bitmap + i * sizeof(little), &little, sizeof(little));
	}
	return blob;
}

long timeline_unpack(const unsigned char *blob, size_t len, uint64_t *values, bool *valid,
		     size_t max)
{
	size_t count = len * 8 / 65, bitmap = (count + 7) / 8; /* 65 bits for each series */

	if (count > max || bitmap + count * sizeof(*values) != len)
		return -EPROTO;
	for (size_t i = 0; i < count; i++) {
		uint64_t little;

		memcpy(&little, blob + bitmap + i * sizeof(little), sizeof(little));
		values[i] = le64toh(little);
		valid[i] = blob[i / 8] >> i % 8 & 1;
	}
	return (long)count;
}

int timeline_add(struct timeline *t, int64_t t_ns, int64_t mono_ns, enum sample_kind kind,
		 const uint64_t *values, const bool *valid, size_t count, struct err *err)
{
	size_t len;
	unsigned char *blob = timeline_pack(values, valid, count, &len);
	int rc;

	if (!blob)
		return err_set(err, ENOMEM, "%s: out of memory", t->path);
	sqlite3_bind_int64(t->insert, 1, t_ns);
	sqlite3_bind_int64(t->insert, 2, mono_ns);
	sqlite3_bind_text(t->insert, 3, kinds[kind], -1, SQLITE_STATIC);
	sqlite3_bind_blob64(t->insert, 4, blob, len, SQLITE_STATIC);
	rc = sqlite3_step(t->insert);
	rc = rc == SQLITE_DONE ? 0 : fail(t->db, t->path, "samples", err);
	sqlite3_reset(t->insert);
	sqlite3_clear_bindings(t->insert);
	free(blob);
	return rc;
}

/* The last changes to a file: also in one that is full, so that its end is always told. */
static int seal(sqlite3 *db, const char *path, const struct record *record, struct err *err)
{
	int rc;

	sqlite3_exec(db, "PRAGMA max_page_count=1073741823", NULL, NULL, NULL);
	if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return fail(db, path, "seal", err);
	rc = set_record(db, path, record, err);
	rc = rc ? rc : set_meta(db, path, "final", "1", err);
	if (rc == 0 && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		rc = fail(db, path, "seal", err);
	if (rc < 0)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static int fold(sqlite3 *db, const char *path, struct err *err)
{
	if (sqlite3_exec(db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL) != SQLITE_OK)
		return fail(db, path, "journal", err);
	return 0;
}

int timeline_seal(struct timeline *t, const struct record *record, struct err *err)
{
	sqlite3_finalize(t->insert);
	t->insert = NULL;
	return seal(t->db, t->path, record, err);
}

int timeline_finish(struct timeline *t, struct err *err)
{
	int rc = fold(t->db, t->path, err);

	timeline_free(t);
	return rc;
}

/* --- reading ------------------------------------------------------------------------------------
 */

struct timeline_view_state {
	sqlite3 *db;
	sqlite3_stmt *samples;
	char *path;
	uint64_t *values;
	bool *valid;
};

static int open_old(const char *path, sqlite3 **db, struct err *err)
{
	*db = NULL;
	if (sqlite3_open_v2(path, db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
			    NULL) != SQLITE_OK)
		return fail(*db, path, "open", err);
	keep_wal(*db);
	if (sqlite3_exec(*db,
			 "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;"
			 "PRAGMA synchronous=OFF; PRAGMA cache_size=16",
			 NULL, NULL, NULL) != SQLITE_OK)
		return fail(*db, path, "open", err);
	return 0;
}

struct timeline *timeline_append(const char *path, size_t series_count, uint64_t max_bytes,
				 struct err *err)
{
	struct timeline *t = timeline_new(path, err);
	int rc;

	if (!t)
		return NULL;
	t->series_count = series_count;
	rc = open_old(path, &t->db, err);
	if (rc == 0 &&
	    sqlite3_exec(t->db, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL) != SQLITE_OK)
		rc = fail(t->db, path, "lock", err);
	rc = rc ? rc : make_ready(t, max_bytes, err);
	if (rc == 0)
		return t;
	timeline_free(t);
	errno = -rc;
	return NULL;
}

/* A text column until the next step; NULL where there is none. *rc becomes -ENOMEM without memory.
 */
static const char *column(sqlite3_stmt *st, int i, int *rc)
{
	const char *text = (const char *)sqlite3_column_text(st, i);

	if (!text && sqlite3_errcode(sqlite3_db_handle(st)) == SQLITE_NOMEM)
		*rc = -ENOMEM;
	return text;
}

/* A copy of meta's value, NULL when it is not there. *rc keeps the first failure. */
static char *get_meta(sqlite3 *db, const char *path, const char *key, int *rc, struct err *err)
{
	sqlite3_stmt *st = NULL;
	const char *text = NULL;
	char *value = NULL;
	int step;

	if (*rc < 0)
		return NULL;
	step = sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key=?1", -1, &st, NULL);
	if (step == SQLITE_OK)
		step = sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
	if (step == SQLITE_OK)
		step = sqlite3_step(st);
	if (step == SQLITE_ROW)
		text = column(st, 0, rc);
	else if (step != SQLITE_DONE)
		*rc = fail(db, path, "meta", err);
	value = text ? strdup(text) : NULL;
	if (*rc == -ENOMEM || (text && !value))
		*rc = err_set(err, ENOMEM, "%s: out of memory", path);
	sqlite3_finalize(st);
	return value;
}

static int take_meta(struct timeline_view *v, const char *format, const char *version,
		     const char *line, const char *boot, struct err *err)
{
	const char *path = v->state->path;

	if (!format || strcmp(format, TIMELINE_FORMAT) != 0 || !version || atoi(version) < 1 ||
	    !line || !boot || strlen(boot) != 36)
		return err_set(err, EPROTO, "%s: is no timeline", path);
	if (atoi(version) > TIMELINE_VERSION)
		return err_set(err, EPROTO,
			       "%s: written by a newer slurm-fabric; update this program", path);
	v->record = record_parse(line, strlen(line), path, err);
	if (!v->record)
		return errno == ENOMEM ? -ENOMEM : -EPROTO;
	memcpy(v->boot_id, boot, sizeof(v->boot_id));
	return 0;
}

static int read_meta(struct timeline_view *v, struct err *err)
{
	static const char *const keys[] = { "format", "version", "record", "boot_id", "final" };
	char *values[sizeof(keys) / sizeof(keys[0])];
	int rc = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		values[i] = get_meta(v->state->db, v->state->path, keys[i], &rc, err);
	if (rc == 0)
		rc = take_meta(v, values[0], values[1], values[2], values[3], err);
	v->final = values[4] && !strcmp(values[4], "1");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		free(values[i]);
	return rc;
}

/* One of a series' names, which are short. */
static const char *name_column(sqlite3_stmt *st, int i, int *rc)
{
	const char *text = column(st, i, rc);

	return text && strlen(text) < 256 ? text : NULL;
}

static const char *source_name(const char *name)
{
	for (size_t i = 0; name && sources[i]; i++)
		if (!strcmp(sources[i]->name, name))
			return sources[i]->name;
	return "other";
}

static int read_series_row(struct timeline_view *v, sqlite3_stmt *st)
{
	struct series *more = reallocarray(v->series, v->series_count + 1, sizeof(*more)), *s;
	int rc = 0;
	const char *source = name_column(st, 1, &rc), *name = name_column(st, 2, &rc);
	const char *device = name_column(st, 3, &rc), *meaning = name_column(st, 4, &rc);
	const char *scope = name_column(st, 7, &rc), *behaviour = name_column(st, 9, &rc);
	int64_t scale = sqlite3_column_int64(st, 6);
	int width = sqlite3_column_int(st, 8);

	if (!more)
		return -ENOMEM;
	v->series = more;
	s = &more[v->series_count];
	memset(s, 0, sizeof(*s));
	if (rc < 0)
		return rc;
	if (sqlite3_column_int64(st, 0) != (int64_t)v->series_count || !name || !device ||
	    !meaning || !meaning_parse(meaning, &s->meaning) || !scope || !behaviour || scale < 1 ||
	    scale > UINT32_MAX || width < 1 || width > 64 || v->series_count >= SOURCE_MAX_SERIES)
		return -EPROTO;
	s->source = source_name(source);
	s->scope = strcmp(scope, series_scope_name(SCOPE_OWN)) ? SCOPE_NODE : SCOPE_OWN;
	s->behaviour = strcmp(behaviour, series_behaviour_name(SERIES_SATURATES))
			       ? SERIES_WRAPS
			       : SERIES_SATURATES;
	s->width = width;
	s->scale = (uint32_t)scale;
	s->rare = sqlite3_column_int(st, 10) != 0;
	s->name = strdup(name);
	s->device = strdup(device);
	v->series_count++;
	return s->name && s->device ? 0 : -ENOMEM;
}

static int read_series(struct timeline_view *v, struct err *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(
		v->state->db,
		"SELECT id, source, name, device, meaning, unit, scale, scope, width,"
		" behaviour, rare FROM series ORDER BY id",
		-1, &st, NULL);
	int bad = 0;

	while (rc == SQLITE_OK && bad == 0) {
		rc = sqlite3_step(st);
		if (rc == SQLITE_ROW) {
			rc = SQLITE_OK;
			bad = read_series_row(v, st);
		}
	}
	if (bad < 0)
		err_set(err, -bad, "%s: series %zu is broken", v->state->path, v->series_count);
	else if (rc != SQLITE_DONE)
		bad = fail(v->state->db, v->state->path, "series", err);
	sqlite3_finalize(st);
	return bad;
}

static int start_samples(struct timeline_view *v, struct err *err)
{
	struct timeline_view_state *state = v->state;

	state->values = calloc(v->series_count + 1, sizeof(*state->values));
	state->valid = calloc(v->series_count + 1, sizeof(*state->valid));
	if (!state->values || !state->valid)
		return err_set(err, ENOMEM, "%s: out of memory", state->path);
	if (sqlite3_prepare_v2(state->db,
			       "SELECT t_ns, mono_ns, kind, counts FROM samples ORDER BY rowid", -1,
			       &state->samples, NULL) != SQLITE_OK)
		return fail(state->db, state->path, "samples", err);
	return 0;
}

struct timeline_view *timeline_open(const char *path, struct err *err)
{
	struct timeline_view *v = calloc(1, sizeof(*v));
	int rc;

	if (v)
		v->state = calloc(1, sizeof(*v->state));
	if (!v || !v->state || !(v->state->path = strdup(path))) {
		err_set(err, ENOMEM, "%s: out of memory", path);
		timeline_view_free(v);
		return NULL;
	}
	rc = open_old(path, &v->state->db, err);
	rc = rc ? rc : read_meta(v, err);
	rc = rc ? rc : read_series(v, err);
	rc = rc ? rc : start_samples(v, err);
	if (rc == 0)
		return v;
	timeline_view_free(v);
	errno = -rc;
	return NULL;
}

static bool kind_parse(const char *text, enum sample_kind *kind)
{
	for (size_t i = 0; text && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(text, kinds[i])) {
			*kind = (enum sample_kind)i;
			return true;
		}
	return false;
}

int timeline_next(struct timeline_view *v, struct timeline_sample *sample, struct err *err)
{
	struct timeline_view_state *state = v->state;
	int step = sqlite3_step(state->samples);
	const char *kind;
	const void *blob;
	long count;
	int rc = 0;

	if (step == SQLITE_DONE)
		return 0;
	if (step != SQLITE_ROW)
		return fail(state->db, state->path, "samples", err);
	kind = column(state->samples, 2, &rc);
	blob = sqlite3_column_blob(state->samples, 3);
	if (rc < 0 || (!blob && sqlite3_errcode(state->db) == SQLITE_NOMEM))
		return err_set(err, ENOMEM, "%s: out of memory", state->path);
	count = blob ? timeline_unpack(blob, (size_t)sqlite3_column_bytes(state->samples, 3),
				       state->values, state->valid, v->series_count)
		     : 0;
	if (count < 0 || !kind_parse(kind, &sample->kind))
		return err_set(err, EPROTO, "%s: a sample is broken", state->path);
	sample->t_ns = sqlite3_column_int64(state->samples, 0);
	sample->mono_ns = sqlite3_column_int64(state->samples, 1);
	sample->values = state->values;
	sample->valid = state->valid;
	sample->count = (size_t)count;
	return 1;
}

void timeline_view_close(struct timeline_view *v)
{
	if (!v->state)
		return;
	sqlite3_finalize(v->state->samples);
	sqlite3_close(v->state->db);
	free(v->state->path);
	free(v->state->values);
	free(v->state->valid);
	free(v->state);
	v->state = NULL;
}

void timeline_view_free(struct timeline_view *v)
{
	if (!v)
		return;
	timeline_view_close(v);
	for (size_t i = 0; i < v->series_count; i++) {
		free(v->series[i].name);
		free(v->series[i].device);
	}
	free(v->series);
	record_free(v->record);
	free(v);
}

int timeline_close_file(const char *path, const struct record *record, struct err *err)
{
	sqlite3 *db;
	int rc = open_old(path, &db, err);

	rc = rc ? rc : seal(db, path, record, err);
	rc = rc ? rc : fold(db, path, err);
	sqlite3_close(db);
	return rc;
}

/* --- keeping the folder small -------------------------------------------------------------------
 */

struct kept {
	char *name;
	int64_t changed_ns;
	uint64_t bytes;
};

static int by_age(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->changed_ns < y->changed_ns ? -1 : x->changed_ns > y->changed_ns;
}

/* All files: what is no timeline takes room as well. */
static int list_kept(DIR *dir, struct kept **list, size_t *count)
{
	struct dirent *entry;
	struct stat st;

	while (*count < FILES_MAX && (entry = readdir(dir))) {
		struct kept *more;

		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		more = reallocarray(*list, *count + 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		*list = more;
		more[*count].name = strdup(entry->d_name);
		more[*count].changed_ns =
			(int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		more[*count].bytes = (uint64_t)st.st_blocks * 512;
		if (!more[*count].name)
			return -ENOMEM;
		(*count)++;
	}
	return 0;
}

int timeline_trim(const char *folder, uint64_t max_bytes, bool (*live)(void *arg, const char *name),
		  void *arg, size_t *deleted, struct err *err)
{
	DIR *dir = opendir(folder);
	struct kept *list = NULL;
	size_t count = 0;
	uint64_t bytes = 0;
	int rc;

	*deleted = 0;
	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return err_set(err, errno, "%s: can't be opened: %s", folder, strerror(errno));
	rc = list_kept(dir, &list, &count);
	if (rc < 0)
		err_set(err, ENOMEM, "%s: out of memory", folder);
	for (size_t i = 0; i < count; i++)
		bytes += list[i].bytes;
	if (count)
		qsort(list, count, sizeof(*list), by_age);
	for (size_t i = 0; i < count && bytes > max_bytes; i++) {
		if (live(arg, list[i].name) || unlinkat(dirfd(dir), list[i].name, 0) < 0)
			continue;
		bytes -= list[i].bytes;
		(*deleted)++;
	}
	for (size_t i = 0; i < count; i++)
		free(list[i].name);
	free(list);
	closedir(dir);
	return rc;
}
