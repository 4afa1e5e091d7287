/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_timeline.c - a timeline is written, read, left unfinished, broken at every place, and
 * deleted.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <signal.h>
#include <sys/wait.h>

#include "source_processes.h"
#include "timeline.h"
#include "unit.h"

static const struct series port = {
	.source = "infiniband",
	.name = (char *)(uintptr_t) "port_rcv_data",
	.device = (char *)(uintptr_t) "mlx5_0:1",
	.meaning = M_RX_BYTES,
	.behaviour = SERIES_SATURATES,
	.width = 32,
	.scale = 4,
	.rare = true,
};

static struct record *head(void)
{
	struct record *r = record_new();

	assert_int_equal(record_make_id(r->id, NULL), 0);
	r->node = strdup("n1");
	r->job = 7;
	return r;
}

static void packing(void **state)
{
	uint64_t values[130], back[130];
	bool valid[130], there[130];

	(void)state;
	for (size_t i = 0; i < 130; i++) {
		values[i] = UINT64_MAX - i;
		valid[i] = i % 3 != 0;
	}
	for (size_t count = 0; count <= 130; count++) {
		size_t len;
		unsigned char *blob = timeline_pack(values, valid, count, &len);

		assert_non_null(blob);
		assert_int_equal(timeline_unpack(blob, len, back, there, 130), count);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(there[i], valid[i]);
			assert_true(back[i] == (valid[i] ? values[i] : 0));
		}
		if (count > 0)
			assert_int_equal(timeline_unpack(blob, len, back, there, count - 1),
					 -EPROTO);
		for (size_t cut = len > 7 ? len - 7 : 1; cut < len; cut++)
			assert_int_equal(timeline_unpack(blob, cut, back, there, 130), -EPROTO);
		free(blob);
	}
}

/* Writes two series and three samples, the second series from the second sample on. */
static struct timeline *write_some(const char *path, const struct record *r, uint64_t max)
{
	struct err err = { "" };
	struct timeline *t = timeline_create(path, r, max, &err);
	uint64_t values[2] = { 1, 2 };
	bool valid[2] = { true, false };

	if (!t)
		fail_msg("%s", err.text);
	assert_int_equal(timeline_add_series(t, &processes_series, &err), 0);
	assert_int_equal(timeline_add(t, 100, 10, SAMPLE_BEGIN, values, valid, 1, &err), 0);
	assert_int_equal(timeline_add_series(t, &port, &err), 0);
	assert_int_equal(timeline_add(t, 200, 20, SAMPLE_GRID, values, valid, 2, &err), 0);
	valid[1] = true;
	assert_int_equal(timeline_add(t, 300, 30, SAMPLE_END, values, valid, 2, &err), 0);
	return t;
}

static void check_some(const char *path, bool final)
{
	struct err err = { "" };
	struct timeline_view *v = timeline_open(path, &err);
	struct timeline_sample s;

	if (!v)
		fail_msg("%s", err.text);
	assert_int_equal(v->final, final);
	assert_int_equal(v->record->job, 7);
	assert_int_equal(v->series_count, 2);
	assert_string_equal(v->series[1].device, "mlx5_0:1");
	assert_true(v->series[1].behaviour == SERIES_SATURATES && v->series[1].width == 32 &&
		    v->series[1].scale == 4 && v->series[1].rare &&
		    v->series[1].scope == SCOPE_NODE);
	assert_true(v->series[0].scope == SCOPE_OWN);
	assert_int_equal(timeline_next(v, &s, &err), 1);
	assert_true(s.kind == SAMPLE_BEGIN && s.t_ns == 100 && s.mono_ns == 10 && s.count == 1);
	assert_int_equal(timeline_next(v, &s, &err), 1);
	assert_true(s.kind == SAMPLE_GRID && s.count == 2 && s.valid[0] && !s.valid[1]);
	assert_int_equal(timeline_next(v, &s, &err), 1);
	assert_true(s.kind == SAMPLE_END && s.valid[1] && s.values[1] == 2);
	assert_int_equal(timeline_next(v, &s, &err), 0);
	timeline_view_free(v);
}

static void written_and_read(void **state)
{
	char *folder = test_folder(), *path = io_format("%s/7.0.x.db", folder);
	struct record *r = head();
	struct timeline *t;
	struct stat st;

	(void)state;
	t = write_some(path, r, 1u << 20);
	r->end = strdup("exit 0");
	assert_int_equal(timeline_seal(t, r, NULL), 0);
	assert_int_equal(timeline_finish(t, NULL), 0);
	check_some(path, true);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_null(timeline_create(path, r, 1u << 20, NULL)); /* never over another one */
	unlink(path);
	assert_int_equal(rmdir(folder), 0); /* and nothing beside it */
	record_free(r);
	free(path);
	free(folder);
}

/* After kill -9: a child that ends without closing. */
static void unfinished(void **state)
{
	char *folder = test_folder(), *path = io_format("%s/7.0.x.db", folder);
	struct record *r = head();
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		write_some(path, r, 1u << 20);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	check_some(path, false);
	assert_int_equal(timeline_close_file(path, r, NULL), 0);
	check_some(path, true);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
	record_free(r);
	free(path);
	free(folder);
}

/* Killed between the two moves of the end: the whole record is there. */
static void sealed_but_not_finished(void **state)
{
	char *folder = test_folder(), *path = io_format("%s/7.0.x.db", folder);
	struct timeline_view *v;
	struct record *r = head();
	int status;
	pid_t pid;

	(void)state;
	r->end = strdup("exit 3");
	assert_int_equal(record_add(r, "mlx5_0:1", M_RX_BYTES, 4711), 0);
	pid = fork();
	if (pid == 0 && timeline_seal(write_some(path, r, 1u << 20), r, NULL) == 0)
		kill(getpid(), SIGKILL);
	if (pid == 0)
		_exit(1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	v = timeline_open(path, NULL);
	assert_non_null(v);
	assert_true(v->final);
	assert_string_equal(v->record->end, "exit 3");
	assert_non_null(record_find(v->record, "mlx5_0:1", M_RX_BYTES));
	timeline_view_free(v);
	assert_int_equal(timeline_close_file(path, r, NULL), 0);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
	record_free(r);
	free(path);
	free(folder);
}

static void discarded(void **state)
{
	char *folder = test_folder(), *path = io_format("%s/7.0.x.db", folder);
	struct record *r = head();

	(void)state;
	timeline_discard(write_some(path, r, 1u << 20));
	assert_int_equal(rmdir(folder), 0); /* nothing is left of it */
	record_free(r);
	free(path);
	free(folder);
}

static void full_but_good(void **state)
{
	char *folder = test_folder(), *path = io_format("%s/7.0.x.db", folder);
	struct record *r = head();
	struct timeline *t = write_some(path, r, 65536);
	uint64_t values[2] = { 1, 2 };
	bool valid[2] = { true, true };
	struct stat st;
	int rc = 0;

	(void)state;
	for (int i = 0; i < 5000 && rc == 0; i++)
		rc = timeline_add(t, 400 + i, 40 + i, SAMPLE_GRID, values, valid, 2, NULL);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(timeline_seal(t, r, NULL), 0);
	assert_int_equal(timeline_finish(t, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size <= 65536 + 2 * 4096);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
	record_free(r);
	free(path);
	free(folder);
}

/* Reads what there is; true when that ended with an error. */
static bool read_all(const char *path)
{
	struct err err = { "" };
	struct timeline_view *v = timeline_open(path, &err);
	struct timeline_sample s;
	int rc = v ? 1 : -1;

	while (rc > 0)
		rc = timeline_next(v, &s, &err);
	timeline_view_free(v);
	assert_true(rc == 0 || strlen(err.text) > 0);
	return rc < 0;
}

/* Every byte of the head, and one in 61 of the rest, in turn: an error or other numbers, no crash.
 */
static void broken_everywhere(void **state)
{
	char *folder = test_folder(), *path = io_format("%s/7.0.x.db", folder), *text;
	struct record *r = head();
	struct timeline *t;
	size_t len;

	(void)state;
	t = write_some(path, r, 1u << 20);
	assert_int_equal(timeline_seal(t, r, NULL), 0);
	assert_int_equal(timeline_finish(t, NULL), 0);
	assert_int_equal(io_read(path, 1u << 20, &text, &len, NULL), 0);
	for (size_t i = 0; i < len; i += i < 100 ? 1 : 61) {
		text[i] = (char)(text[i] ^ 0x55);
		assert_int_equal(io_write_atomic(path, text, len, 0600, NULL), 0);
		text[i] = (char)(text[i] ^ 0x55);
		read_all(path);
	}
	for (size_t cut = 0; cut < len; cut += 512) {
		assert_int_equal(io_write_atomic(path, text, cut, 0600, NULL), 0);
		assert_true(read_all(path) || cut > 4096);
	}
	free(text);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
	record_free(r);
	free(path);
	free(folder);
}

static bool is_live(void *arg, const char *name)
{
	return !strcmp(name, arg);
}

static void oldest_go_first(void **state)
{
	static const char *const names[] = { "1.0.a.db", "2.0.b.db.bad", "3.0.c.db-wal",
					     "4.0.d.db" };
	char *folder = test_folder(), block[8192] = { 1 };
	char live[] = "1.0.a.db";
	size_t deleted;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct timespec times[2] = { { (time_t)i + 1, 0 }, { (time_t)i + 1, 0 } };
		char *path = io_format("%s/%s", folder, names[i]);

		assert_int_equal(io_write_atomic(path, block, sizeof(block), 0600, NULL), 0);
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
		free(path);
	}
	assert_int_equal(timeline_trim(folder, 1u << 20, is_live, live, &deleted, NULL), 0);
	assert_int_equal(deleted, 0);
	assert_int_equal(
		timeline_trim(folder, 2 * sizeof(block) + 100, is_live, live, &deleted, NULL), 0);
	assert_int_equal(deleted, 2);
	for (size_t i = 0; i < 4; i++) {
		char *path = io_format("%s/%s", folder, names[i]);

		assert_int_equal(unlink(path), i == 1 || i == 2 ? -1 : 0);
		free(path);
	}
	rmdir(folder);
	free(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packing),
		cmocka_unit_test(written_and_read),
		cmocka_unit_test(unfinished),
		cmocka_unit_test(full_but_good),
		cmocka_unit_test(broken_everywhere),
		cmocka_unit_test(oldest_go_first),
		cmocka_unit_test(sealed_but_not_finished),
		cmocka_unit_test(discarded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
