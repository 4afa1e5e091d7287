/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_store.c - sfabricctld's memory: what was acknowledged is there after kill -9, repeating a
 * message changes nothing, messages find the run of the job they belong to, and a store that can't
 * be used is refused with a sentence.
 */
#include "unit.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store.h"
#include "text.h"

#define S INT64_C(1000000000)

struct fixture {
	char *folder, *path;
	struct store *store;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct err err = { "" };

	f->folder = test_folder();
	f->path = io_format("%s/store.db", f->folder);
	f->store = store_open(f->path, &err);
	if (!f->store)
		fail_msg("%s", err.text);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
	struct fixture *f = *state;

	store_close(f->store);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char *path = io_format("%s%s", f->path, ends[i]);

		unlink(path);
		free(path);
	}
	assert_int_equal(rmdir(f->folder), 0);
	free(f->folder);
	free(f->path);
	free(f);
	return 0;
}

static struct record *record_of(uint32_t job, uint32_t step, const char *node, int64_t begin_ns,
				uint32_t id)
{
	struct record *r = record_new();

	snprintf(r->id, sizeof(r->id), "%032x", id);
	r->node = strdup(node);
	r->job = job;
	r->step = step;
	r->uid = 1000;
	r->node_count = 1;
	r->begin_ns = begin_ns;
	return r;
}

static void put_record(struct fixture *f, uint32_t job, uint32_t step, int64_t begin_ns,
		       uint32_t id)
{
	struct record *r = record_of(job, step, "n1", begin_ns, id);
	struct err err = { "" };

	if (store_put_record(f->store, r, "{\"x\":1}", true, 5 * S, &err) < 0)
		fail_msg("%s", err.text);
	record_free(r);
}

static void put_begin(struct fixture *f, uint32_t job, int64_t began_ns)
{
	struct store_begin b = { .job = job,
				 .step = 0,
				 .uid = 1000,
				 .node = (char *)"n1",
				 .node_count = 2,
				 .class = (char *)"compact",
				 .began_ns = began_ns };

	assert_int_equal(store_put_begin(f->store, &b, 6 * S, NULL), 0);
}

static struct store_job job_of(struct fixture *f, uint32_t job)
{
	struct store_job j;
	int64_t key;

	assert_int_equal(store_find_job(f->store, job, &key, NULL), 0);
	assert_int_equal(store_get_job(f->store, key, &j, NULL), 0);
	return j;
}

static int count_one(void *arg, const char *json)
{
	assert_true(json[0] == '{');
	(*(size_t *)arg)++;
	return 0;
}

static size_t record_count(struct fixture *f, int64_t key)
{
	size_t n = 0;

	assert_int_equal(store_each_record(f->store, key, count_one, &n, NULL), 0);
	return n;
}

static size_t begin_count(struct fixture *f, int64_t key)
{
	struct store_begin *begins;
	size_t n;

	assert_int_equal(store_get_begins(f->store, key, &begins, &n, NULL), 0);
	for (size_t i = 0; i < n; i++)
		store_begin_clear(&begins[i]);
	free(begins);
	return n;
}

static void set_facts(struct fixture *f, int64_t *key, uint32_t job, int64_t start_s, int64_t end_s,
		      int64_t restarts)
{
	struct store_identity id = { .job = job,
				     .submit_s = start_s - 1,
				     .start_s = start_s,
				     .end_s = end_s,
				     .restarts = restarts };

	assert_int_equal(store_set_facts(f->store, key, &id, "{\"f\":1}", NULL), 0);
}

/* ---- maps ---- */

static void expect_map(struct fixture *f, int64_t at_ns, const char *want)
{
	char *json;

	assert_int_equal(store_get_map(f->store, "n1", at_ns, &json, NULL), 0);
	assert_string_equal(json, want);
	free(json);
}

static void maps_have_a_past(void **state)
{
	struct fixture *f = *state;
	struct err err = { "" };
	char *json;

	assert_int_equal(store_get_map(f->store, "n1", 0, &json, &err), -ENOENT);
	assert_non_null(strstr(err.text, "n1"));
	assert_int_equal(store_put_map(f->store, "n1", "a", 10, NULL), 0);
	assert_int_equal(store_put_map(f->store, "n1", "a", 20, NULL),
			 0); /* the same: nothing new */
	assert_int_equal(store_put_map(f->store, "n1", "b", 30, NULL), 0);
	assert_int_equal(store_put_map(f->store, "n1", "a", 40, NULL), 0);
	assert_int_equal(store_put_map(f->store, "n2", "z", 41, NULL), 0);
	expect_map(f, 0, "a");
	expect_map(f, 35, "b");
	expect_map(f, 30, "b");
	expect_map(f, 29, "a");
	expect_map(f, 5, "a"); /* none yet: the first that came */
	for (int i = 0; i < 3 * STORE_MAPS_PER_NODE; i++) {
		char text[16];

		snprintf(text, sizeof(text), "m%d", i);
		assert_int_equal(store_put_map(f->store, "n1", text, 100 + i, NULL), 0);
	}
	expect_map(f, 1, "m64"); /* 96 came, 32 are kept */
	expect_map(f, 0, "m95");
}

/* ---- messages and jobs ---- */

static void repeating_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct store_job j;

	put_begin(f, 17, 100 * S);
	put_begin(f, 17, 100 * S);
	put_record(f, 17, 0, 100 * S, 1);
	put_record(f, 17, 0, 100 * S, 1);
	put_record(f, 17, STEP_ID_BATCH, 100 * S, 2);
	j = job_of(f, 17);
	assert_int_equal(j.arrivals, 3);
	assert_int_equal(j.uid, 1000);
	assert_int_equal(j.batch_ns, 5 * S);
	assert_true(j.open);
	assert_int_equal(record_count(f, j.key), 2);
	assert_int_equal(begin_count(f, j.key), 1);
	store_job_clear(&j);
}

static void a_job_closes_only_without_news(void **state)
{
	struct fixture *f = *state;
	struct store_job j;
	int64_t *keys;
	size_t n;

	put_record(f, 17, 0, 100 * S, 1);
	j = job_of(f, 17);
	j.seen_arrivals = j.arrivals;
	put_record(f, 17, 1, 101 * S, 2); /* comes while the field is being written */
	assert_int_equal(store_save_job(f->store, &j, NULL), 0);
	assert_int_equal(store_close_job(f->store, j.key, NULL), 0);
	assert_int_equal(store_open_jobs(f->store, &keys, &n, NULL), 0);
	assert_int_equal(n, 1);
	free(keys);
	store_job_clear(&j);
	j = job_of(f, 17);
	j.seen_arrivals = j.arrivals;
	j.field = FIELD_FINAL;
	j.field_text = strdup("text");
	assert_int_equal(store_save_job(f->store, &j, NULL), 0);
	assert_int_equal(store_close_job(f->store, j.key, NULL), 0);
	store_job_clear(&j);
	assert_int_equal(store_open_jobs(f->store, &keys, &n, NULL), 0);
	assert_int_equal(n, 0);
	free(keys);
	put_record(f, 17, 2, 102 * S,
		   3); /* late: open again, and what was written is still known */
	j = job_of(f, 17);
	assert_true(j.open && j.field == FIELD_FINAL);
	assert_string_equal(j.field_text, "text");
	store_job_clear(&j);
}

/* A record that is no reason to follow its job is kept, and leaves an open one open. */
static void some_records_open_no_job(void **state)
{
	struct fixture *f = *state;
	struct record *r = record_of(8, 0, "n1", 100 * S, 'a');
	struct store_job j;

	assert_int_equal(store_put_record(f->store, r, "{}", false, 5 * S, NULL), 0);
	j = job_of(f, 8);
	assert_false(j.open);
	assert_int_equal(record_count(f, j.key), 1);
	store_job_clear(&j);
	put_begin(f, 8, 101 * S);
	r->id[0] = 'b';
	assert_int_equal(store_put_record(f->store, r, "{}", false, 6 * S, NULL), 0);
	j = job_of(f, 8);
	assert_true(j.open);
	assert_int_equal(j.arrivals, 3);
	store_job_clear(&j);
	record_free(r);
}

static void messages_find_their_run(void **state)
{
	struct fixture *f = *state;
	struct store_job first, second;

	put_begin(f, 17, 1000 * S);
	first = job_of(f, 17);
	set_facts(f, &first.key, 17, 1000, 2000, 0);
	put_record(f, 17, 0, 1000 * S, 1); /* comes after the end, is of before it */
	put_begin(f, 17, 2200 * S);	   /* the id again, long after the end */
	second = job_of(f, 17);
	assert_true(second.key != first.key);
	set_facts(f, &second.key, 17, 2199, 0, 1);
	put_record(f, 17, 1, 2300 * S, 2);
	put_record(f, 17, 2, 1500 * S, 3); /* a late one of the first run */
	assert_int_equal(record_count(f, first.key), 2);
	assert_int_equal(record_count(f, second.key), 1);
	store_job_clear(&first);
	store_job_clear(&second);
}

static void a_requeued_job_is_split(void **state)
{
	struct fixture *f = *state;
	struct store_job first, second;

	put_begin(f, 17, 1000 * S);
	first = job_of(f, 17);
	set_facts(f, &first.key, 17, 1000, 0, 0);
	put_record(f, 17, 0, 1010 * S, 1);
	put_record(f, 17, 1, 1075 * S, 2); /* of the run that Slurm was not asked about yet */
	assert_int_equal(store_supersede(f->store, first.key, 1070, NULL), 0);
	second = job_of(f, 17);
	assert_true(second.key != first.key);
	assert_true(second.open);
	assert_int_equal(second.arrivals, 1);
	assert_int_equal(record_count(f, first.key), 1);
	assert_int_equal(record_count(f, second.key), 1);
	store_job_clear(&first);
	assert_int_equal(store_get_job(f->store, second.key, &first, NULL), 0);
	store_job_clear(&first);
	store_job_clear(&second);
}

static void two_rows_of_one_run_become_one(void **state)
{
	struct fixture *f = *state;
	struct store_job j;
	int64_t key, other;

	put_begin(f, 17, 1000 * S);
	j = job_of(f, 17);
	key = j.key;
	store_job_clear(&j);
	set_facts(f, &key, 17, 1000, 1100, 0);
	put_record(f, 17, 0, 1500 * S, 1); /* a node's clock is far off: another row */
	j = job_of(f, 17);
	other = j.key;
	store_job_clear(&j);
	assert_true(other != key);
	set_facts(f, &other, 17, 1000, 1100, 0); /* but Slurm says it is the same run */
	assert_int_equal(other, key);
	assert_int_equal(record_count(f, key), 1);
	assert_int_equal(begin_count(f, key), 1);
	j = job_of(f, 17);
	assert_int_equal(j.key, key);
	assert_int_equal(j.arrivals, 2);
	store_job_clear(&j);
}

static void array_tasks_are_found(void **state)
{
	struct fixture *f = *state;
	struct store_identity id = { .job = 20,
				     .submit_s = 9,
				     .start_s = 10,
				     .restarts = 0,
				     .array = true,
				     .array_job = 18,
				     .array_task = 3 };
	struct store_job j;
	int64_t key, found;

	put_begin(f, 20, 10 * S);
	j = job_of(f, 20);
	key = j.key;
	store_job_clear(&j);
	assert_int_equal(store_set_facts(f->store, &key, &id, "{}", NULL), 0);
	assert_int_equal(store_find_task(f->store, 18, 3, &found, NULL), 0);
	assert_int_equal(found, key);
	assert_int_equal(store_find_task(f->store, 18, 4, &found, NULL), -ENOENT);
	assert_int_equal(store_find_job(f->store, 18, &found, NULL), -ENOENT);
}

/* slurmdbd does not know restarts: its word on a run must not make slurmctld's unknown. */
static void a_run_stays_one_whoever_tells_of_it(void **state)
{
	struct fixture *f = *state;
	struct store_job j;
	int64_t key, other;

	put_begin(f, 17, 1000 * S);
	j = job_of(f, 17);
	key = j.key;
	store_job_clear(&j);
	set_facts(f, &key, 17, 1000, 0, 0);
	set_facts(f, &key, 17, 1000, 1100, -1); /* slurmdbd */
	put_record(f, 17, 0, 1500 * S, 1);	/* a clock is far off: another row */
	j = job_of(f, 17);
	other = j.key;
	store_job_clear(&j);
	assert_true(other != key);
	set_facts(f, &other, 17, 1000, 1100, 0); /* slurmctld */
	assert_int_equal(other, key);
	put_record(f, 17, 0, 1600 * S, 2);
	j = job_of(f, 17);
	other = j.key;
	store_job_clear(&j);
	assert_true(other != key);
	set_facts(f, &other, 17, 1000, 1100, -1); /* slurmdbd */
	assert_int_equal(other, key);
	assert_int_equal(record_count(f, key), 2);
}

static int stop_at_third(void *arg, const char *json)
{
	(void)json;
	return ++*(size_t *)arg == 3 ? -ECANCELED : 0;
}

/* More records than are read at once: each comes once, in order; the taker may end it. */
static void all_records_are_handed_over(void **state)
{
	enum { RECORDS = 700 };
	struct fixture *f = *state;
	struct store_job j;
	size_t n = 0;

	for (uint32_t i = 0; i < RECORDS; i++)
		put_record(f, 17, i % 3 ? i % 7 : STEP_ID_BATCH, 100 * S, i);
	put_record(f, 18, 0, 100 * S, 9999);
	j = job_of(f, 17);
	assert_int_equal(record_count(f, j.key), RECORDS);
	assert_int_equal(store_each_record(f->store, j.key, stop_at_third, &n, NULL), -ECANCELED);
	assert_int_equal(n, 3);
	store_job_clear(&j);
}

static void put_from(struct fixture *f, uint32_t job, uint32_t step, const char *node,
		     uint32_t node_count, uint32_t id)
{
	struct record *r = record_of(job, step, node, 100 * S, id);

	r->node_count = node_count;
	assert_int_equal(store_put_record(f->store, r, "{}", true, 5 * S, NULL), 0);
	record_free(r);
}

static bool complete_of(struct fixture *f, uint32_t job)
{
	struct store_job j = job_of(f, job);
	bool complete;

	assert_int_equal(store_complete(f->store, j.key, &complete, NULL), 0);
	store_job_clear(&j);
	return complete;
}

static void completeness_is_counted(void **state)
{
	struct fixture *f = *state;

	put_begin(f, 17, 100 * S); /* step 0 on two nodes */
	assert_false(complete_of(f, 17));
	put_from(f, 17, 0, "n1", 2, 1);
	put_from(f, 17, 0, "n1", 2, 2); /* the same node again, in two parts */
	assert_false(complete_of(f, 17));
	put_from(f, 17, 0, "n2", 1, 3);
	assert_true(complete_of(f, 17));
	put_from(f, 17, STEP_ID_BATCH, "n1", 1, 4);
	assert_true(complete_of(f, 17));
	put_from(f, 17, 1, "n1", 2, 5);
	assert_false(complete_of(f, 17));
	put_from(f, 18, 0, "n1", 1, 6); /* without a begin */
	assert_true(complete_of(f, 18));
}

static void close_at(struct fixture *f, uint32_t job)
{
	struct store_job j = job_of(f, job);

	j.seen_arrivals = j.arrivals;
	assert_int_equal(store_save_job(f->store, &j, NULL), 0);
	assert_int_equal(store_close_job(f->store, j.key, NULL), 0);
	store_job_clear(&j);
}

static bool knows(struct fixture *f, uint32_t job)
{
	int64_t key;

	return store_find_job(f->store, job, &key, NULL) == 0;
}

/* Closed jobs go when they have been silent long enough, or room is needed; open ones never. */
static void what_is_old_is_forgotten(void **state)
{
	int64_t later = (STORE_KEEP_S + 6) * S;
	struct fixture *f = *state;
	struct store_job j;
	bool more = true;

	for (uint32_t i = 0; i < 1200; i++)
		put_record(f, 17, i, 100 * S, i);
	put_record(f, 18, 0, 100 * S, 5000);
	put_begin(f, 19, 100 * S);
	j = job_of(f, 17);
	close_at(f, 17);
	close_at(f, 18);
	assert_int_equal(store_forget(f->store, later - 2 * S, INT64_MAX, &more, NULL), 0);
	assert_true(knows(f, 17) && knows(f, 18) && !more);
	for (more = true; more;)
		assert_int_equal(store_forget(f->store, later, INT64_MAX, &more, NULL), 0);
	assert_false(knows(f, 17) || knows(f, 18));
	assert_true(knows(f, 19));
	assert_int_equal(record_count(f, j.key), 0);
	store_job_clear(&j);
	close_at(f, 19);
	assert_int_equal(store_forget(f->store, 7 * S, 0, &more, NULL), 0); /* no room */
	assert_false(knows(f, 19));
}

/* A message of a job that was forgotten must not begin it anew: one record is not its story. */
static void messages_of_forgotten_jobs_are_refused(void **state)
{
	struct fixture *f = *state;
	struct record *r = record_of(17, 0, "n1", 100 * S, 1);
	struct err err = { "" };

	assert_int_equal(store_put_record(f->store, r, "{}", true, (STORE_KEEP_S + 101) * S, &err),
			 -ESTALE);
	assert_non_null(strstr(err.text, "job 17"));
	assert_false(knows(f, 17));
	put_begin(f, 17, 100 * S); /* it is known: then any message is welcome */
	r->begin_ns = 0;	   /* a clock that was not set yet */
	assert_int_equal(store_put_record(f->store, r, "{}", true, (STORE_KEEP_S + 101) * S, &err),
			 0);
	r->begin_ns = INT64_MAX;
	r->id[0] = 'f';
	assert_int_equal(store_put_record(f->store, r, "{}", true, 5 * S, &err), 0);
	record_free(r);
}

/* ---- what must not happen ---- */

static void hostile_texts_are_only_texts(void **state)
{
	static const char evil[] = "x'); DROP TABLE records; --\" \\ \xff\x01";
	struct fixture *f = *state;
	char *json;

	assert_int_equal(store_put_map(f->store, evil, evil, 1, NULL), 0);
	assert_int_equal(store_get_map(f->store, evil, 0, &json, NULL), 0);
	assert_string_equal(json, evil);
	free(json);
	put_record(f, 1, 0, 1, 1);
}

/* A child stores and says so byte by byte; it is killed at some moment; all it said is there. */
static void nothing_acknowledged_is_lost(void **state)
{
	struct fixture *f = *state;
	uint32_t acknowledged = 0, tries = 0;
	struct store_job j;

	store_close(f->store);
	f->store = NULL;
	for (; tries < 5; tries++) {
		int fds[2];
		pid_t pid;
		char byte;

		assert_int_equal(pipe(fds), 0);
		pid = fork();
		if (pid == 0) {
			f->store = store_open(f->path, NULL);
			for (uint32_t i = 0; f->store; i++) {
				struct record *r = record_of(17, i, "n1", S, tries * 1000000 + i);

				if (store_put_record(f->store, r, "{}", true, S, NULL) < 0 ||
				    write(fds[1], "x", 1) != 1)
					break;
				record_free(r);
			}
			_exit(1);
		}
		close(fds[1]);
		for (uint32_t i = 0; i < 3 + tries * 4 && read(fds[0], &byte, 1) == 1; i++)
			acknowledged++;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read(fds[0], &byte, 1) == 1)
			acknowledged++;
		close(fds[0]);
	}
	f->store = store_open(f->path, NULL);
	assert_non_null(f->store);
	j = job_of(f, 17);
	assert_true(acknowledged >= 5 * 3);
	assert_true(record_count(f, j.key) >= acknowledged);
	assert_true(record_count(f, j.key) <=
		    acknowledged + tries); /* one each may be on its way */
	store_job_clear(&j);
}

static void unusable_stores_are_refused(void **state)
{
	struct fixture *f = *state;
	char *path = io_format("%s/no/such/folder/store.db", f->folder);
	char *garbage = io_format("%s/garbage", f->folder);
	char text[8192];
	struct err err = { "" };

	assert_null(store_open(path, &err));
	assert_non_null(strstr(err.text, path));
	memset(text, 'g', sizeof(text));
	assert_int_equal(io_write_atomic(garbage, text, sizeof(text), 0600, NULL), 0);
	err.text[0] = '\0';
	assert_null(store_open(garbage, &err));
	assert_non_null(strstr(err.text, "not a database"));
	unlink(garbage);
	free(garbage);
	free(path);
}

static void newer_stores_are_refused(void **state)
{
	struct fixture *f = *state;
	struct err err = { "" };
	sqlite3 *db;

	store_close(f->store);
	f->store = NULL;
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_null(store_open(f->path, &err));
	assert_non_null(strstr(err.text, "newer"));
}

static void the_file_is_private(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 077, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(maps_have_a_past),
		TEST(repeating_changes_nothing),
		TEST(a_job_closes_only_without_news),
		TEST(some_records_open_no_job),
		TEST(messages_find_their_run),
		TEST(a_requeued_job_is_split),
		TEST(two_rows_of_one_run_become_one),
		TEST(array_tasks_are_found),
		TEST(a_run_stays_one_whoever_tells_of_it),
		TEST(all_records_are_handed_over),
		TEST(completeness_is_counted),
		TEST(what_is_old_is_forgotten),
		TEST(messages_of_forgotten_jobs_are_refused),
		TEST(hostile_texts_are_only_texts),
		TEST(nothing_acknowledged_is_lost),
		TEST(unusable_stores_are_refused),
		TEST(newer_stores_are_refused),
		TEST(the_file_is_private),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
