/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_steps.c - from packets to records in the spool, with the real sampler on an empty machine;
 * and what a later run makes of what one that was killed left behind.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "steps.h"
#include "timeline.h"
#include "unit.h"

static void quiet(int level, const char *text)
{
	(void)level;
	(void)text;
}

static const struct agent_log log_nothing = { quiet };

/* sfabricd without its event loop. */
struct agent {
	char *folder, *timelines, *markers, *out;
	struct conf conf;
	int notify;
	struct spool *spool;
	struct sender *sender;
	struct sampler *sampler;
	struct steps *steps;
};

static void start(struct agent *a, char *folder)
{
	struct steps_with with = { .conf = &a->conf, .node = "n1", .log = &log_nothing };

	*a = (struct agent){ .folder = folder };
	a->conf.sample_ns = a->conf.sample_min_ns = a->conf.sample_max_ns = 50000000;
	a->conf.spool_max = 16u << 20;
	a->timelines = io_format("%s/timelines", folder);
	a->markers = io_format("%s/steps", folder);
	a->out = io_format("%s/out", folder);
	a->notify = eventfd(0, EFD_NONBLOCK);
	a->spool = spool_open(folder, NULL);
	assert_non_null(a->spool);
	a->sender = sender_start(NULL, a->spool, &log_nothing, NULL);
	a->sampler = sampler_start("/nonexistent", a->notify, NULL);
	with.timelines = a->timelines;
	with.markers = a->markers;
	with.sender = a->sender;
	with.sampler = a->sampler;
	a->steps = steps_new(&with);
	assert_true(a->sender && a->sampler && a->steps);
}

static void stop(struct agent *a)
{
	steps_free(a->steps);
	sampler_stop(a->sampler);
	assert_true(sender_stop(a->sender, 0));
	spool_free(a->spool);
	close(a->notify);
	free(a->timelines);
	free(a->markers);
	free(a->out);
}

static void remove_tree(char *path)
{
	char *command = io_format("rm -rf '%s'", path);

	assert_int_equal(system(command), 0);
	free(command);
	free(path);
}

static struct packet packet_of(enum packet_kind kind)
{
	struct packet p = { .kind = kind, .job = 7, .step = 3, .node_index = 1, .node_count = 2 };

	p.tasks = p.cores = PACKET_UNKNOWN;
	p.began_ns = io_now_ns();
	p.began_mono_ns = io_mono_ns();
	p.ended_ns = p.began_ns;
	p.status_known = true;
	return p;
}

/* Gives passes to the steps until there is no step or the time is over. */
static void run(struct agent *a, int ms)
{
	int64_t until = io_mono_ns() + (int64_t)ms * 1000000;

	while (steps_count(a->steps) > 0 && io_mono_ns() < until) {
		struct sampler_pass *pass = sampler_take(a->sampler);

		if (pass)
			steps_pass(a->steps, pass);
		else
			usleep(1000);
		sampler_pass_free(pass);
	}
}

static void run_step(struct agent *a)
{
	struct packet begin = packet_of(PACKET_STEP_BEGIN), end;
	struct step *step = steps_begin(a->steps, &begin, getpid());

	assert_non_null(step);
	run(a, 150);
	end = packet_of(PACKET_STEP_END);
	steps_end(a->steps, step, &end);
	run(a, 5000);
	assert_int_equal(steps_count(a->steps), 0);
}

/* How many files a folder has; one of them into *name. */
static size_t files_in(const char *folder, char name[256])
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			snprintf(name, 256, "%s", entry->d_name);
			count++;
		}
	closedir(dir);
	return count;
}

/* The only record that waits. */
static struct record *only_record(const struct agent *a)
{
	struct record *r;
	char name[256], *path, *text;
	size_t len;

	assert_int_equal(files_in(a->out, name), 1);
	path = io_format("%s/%s", a->out, name);
	assert_int_equal(io_read(path, 1u << 20, &text, &len, NULL), 0);
	r = record_parse(text, len, path, NULL);
	assert_non_null(r);
	free(text);
	free(path);
	return r;
}

static void a_step_is_recorded(void **state)
{
	struct agent a;
	struct record *r;
	char name[256];

	(void)state;
	start(&a, test_folder());
	run_step(&a);
	r = only_record(&a);
	assert_null(r->partial);
	assert_string_equal(r->end, "exit 0");
	assert_true(r->job == 7 && r->step == 3 && r->samples >= 2);
	assert_true(r->elapsed_ns >= 100000000);
	assert_non_null(record_find(r, "step", M_CPU_US));
	record_free(r);
	assert_int_equal(files_in(a.timelines, name), 1); /* no WAL */
	stop(&a);
	remove_tree(a.folder);
}

/* The timeline is started by the grid: a step that ends before has its record, and is complete. */
static void a_short_step_makes_no_timeline(void **state)
{
	struct packet begin = packet_of(PACKET_STEP_BEGIN), end = packet_of(PACKET_STEP_END);
	struct agent a;
	struct record *r;

	(void)state;
	start(&a, test_folder());
	strcpy(begin.sample, "60s");
	steps_end(a.steps, steps_begin(a.steps, &begin, getpid()), &end);
	run(&a, 5000);
	assert_int_equal(steps_count(a.steps), 0);
	r = only_record(&a);
	assert_string_equal(r->end, "exit 0");
	record_free(r);
	assert_int_not_equal(access(a.timelines, F_OK), 0);
	stop(&a);
	remove_tree(a.folder);
}

/* A pass at an instant of the grid, so long after the step's begin. */
static void grid_pass(struct agent *a, const struct packet *begin, int ms)
{
	int64_t after = (int64_t)ms * 1000000;
	uint64_t value = 0;
	bool valid = false;
	struct sampler_pass pass = { .t_ns = begin->began_ns + after,
				     .mono_ns = begin->began_mono_ns + after,
				     .nominal_ns = begin->began_mono_ns + after,
				     .ticket = UINT64_MAX,
				     .values = &value,
				     .valid = &valid };

	steps_pass(a->steps, &pass);
}

/* Launching a step is no moment for a database: the instant right behind it is left out. */
static void the_begin_sample_stands_for_the_next_instant(void **state)
{
	struct packet begin = packet_of(PACKET_STEP_BEGIN);
	struct agent a;
	char name[256];

	(void)state;
	start(&a, test_folder());
	assert_non_null(steps_begin(a.steps, &begin, getpid()));
	grid_pass(&a, &begin, 1); /* the begin sample */
	grid_pass(&a, &begin, 10);
	assert_int_not_equal(access(a.timelines, F_OK), 0);
	grid_pass(&a, &begin, 60);
	assert_true(files_in(a.timelines, name) > 0);
	steps_stop(a.steps, "the test ends");
	stop(&a);
	remove_tree(a.folder);
}

static void an_end_without_a_begin(void **state)
{
	struct packet end = packet_of(PACKET_STEP_END);
	struct agent a;
	struct record *r;

	(void)state;
	end.began_mono_ns = io_mono_ns() - INT64_C(7000000000);
	end.began_ns = io_now_ns() + INT64_C(3600000000000); /* the clock was set back since */
	end.ended_ns = io_now_ns();
	start(&a, test_folder());
	steps_end_alone(a.steps, &end);
	r = only_record(&a);
	assert_non_null(r->partial);
	assert_int_equal(r->value_count, 0);
	assert_true(r->elapsed_ns >= INT64_C(7000000000) && r->elapsed_ns < INT64_C(60000000000));
	record_free(r);
	stop(&a);
	remove_tree(a.folder);
}

/* Writes a timeline in a process that is killed: sealed with that end, or where end is NULL not. */
static struct record *killed(const char *folder, const char *end)
{
	struct record *r = record_new();
	char *timelines = io_format("%s/timelines", folder), *path;
	struct timeline *t;
	int status;
	pid_t pid;

	assert_int_equal(io_mkdirs(timelines, 0700, NULL), 0);
	assert_int_equal(record_make_id(r->id, NULL), 0);
	r->node = strdup("n1");
	r->job = 7;
	r->step = 3;
	r->interval_ns = 1000000000;
	path = io_format("%s/7.3.%s.db", timelines, r->id);
	pid = fork();
	if (pid == 0) {
		t = timeline_create(path, r, 16u << 20, NULL);
		if (t && end) {
			r->end = strdup(end);
			record_add(r, "mlx5_0:1", M_RX_BYTES, 4711);
			timeline_seal(t, r, NULL);
		}
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	free(path);
	free(timelines);
	return r;
}

static void recover(struct agent *a)
{
	char name[256];

	steps_recover(a->steps, NULL, NULL);
	assert_int_equal(files_in(a->timelines, name), 1);
	assert_string_equal(name + strlen(name) - 3, ".db");
}

/* Killed with the record whole, before or after it was spooled: that record and no other. */
static void killed_after_the_end(void **state)
{
	for (int spooled = 0; spooled < 2; spooled++) {
		char *folder = test_folder();
		struct record *was = killed(folder, "exit 9"), *r;
		struct agent a;

		(void)state;
		start(&a, folder);
		if (spooled) {
			was->end = strdup("exit 9");
			record_add(was, "mlx5_0:1", M_RX_BYTES, 4711);
			char *line = record_line(was);

			assert_int_equal(spool_put(a.spool, SPOOL_RECORD, was->id, line, NULL), 0);
			free(line);
		}
		recover(&a);
		r = only_record(&a);
		assert_string_equal(r->id, was->id);
		assert_null(r->partial);
		assert_string_equal(r->end, "exit 9");
		assert_int_equal(record_find(r, "mlx5_0:1", M_RX_BYTES)->total, 4711);
		record_free(r);
		record_free(was);
		stop(&a);
		remove_tree(a.folder);
	}
}

static void killed_while_it_ran(void **state)
{
	char *folder = test_folder();
	struct record *was = killed(folder, NULL), *r;
	struct agent a;

	(void)state;
	start(&a, folder);
	recover(&a);
	r = only_record(&a);
	assert_string_equal(r->id, was->id);
	assert_string_equal(r->partial, "sfabricd was restarted");
	assert_null(r->end);
	record_free(r);
	record_free(was);
	stop(&a);
	remove_tree(a.folder);
}

/* The end does not fit on the disk: the record is whole, and nothing is left to make another of. */
static void a_timeline_that_can_not_be_sealed(void **state)
{
	struct packet begin = packet_of(PACKET_STEP_BEGIN), end;
	struct rlimit before, small = { 4096, 0 };
	struct agent a;
	struct record *r;
	struct step *step;
	char name[256];

	(void)state;
	start(&a, test_folder());
	step = steps_begin(a.steps, &begin, getpid());
	run(&a, 100);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	end = packet_of(PACKET_STEP_END);
	steps_end(a.steps, step, &end);
	run(&a, 5000);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	r = only_record(&a);
	assert_null(r->partial);
	record_free(r);
	assert_int_equal(files_in(a.timelines, name), 0);
	stop(&a);
	remove_tree(a.folder);
}

/* --- what a restart finds --- */

static struct step *followed;
static int followed_pidfd;

static void follow(void *arg, struct step *step, pid_t stepd, int pidfd)
{
	(void)arg;
	(void)stepd;
	assert_null(followed);
	followed = step;
	followed_pidfd = pidfd;
}

/* Starts anew in the folder, takes over what there is, and says how many markers there were. */
static void start_again(struct agent *a, char *folder)
{
	followed = NULL;
	followed_pidfd = -1;
	start(a, folder);
	steps_recover(a->steps, follow, NULL);
	if (followed_pidfd >= 0)
		close(followed_pidfd);
}

static void no_trace(const struct agent *a)
{
	char name[256];

	assert_int_equal(files_in(a->markers, name), 0);
	if (access(a->timelines, F_OK) == 0 && files_in(a->timelines, name))
		assert_string_equal(name + strlen(name) - 3, ".db");
}

/* Left or killed: the next one goes on with the step, and its record is as if nothing had been. */
static void a_step_outlives_a_restart(void **state)
{
	for (int killed = 0; killed < 2; killed++) {
		struct packet begin = packet_of(PACKET_STEP_BEGIN), end;
		struct agent a;
		struct record *r;
		char id[256];

		(void)state;
		start(&a, test_folder());
		assert_non_null(steps_begin(a.steps, &begin, getpid()));
		run(&a, 170);
		if (!killed)
			steps_leave(a.steps);
		stop(&a);
		usleep(200000);
		start_again(&a, a.folder);
		assert_non_null(followed);
		assert_true(followed_pidfd >= 0);
		assert_int_equal(files_in(a.markers, id), 1);
		run(&a, 170);
		end = begin;
		end.kind = PACKET_STEP_END;
		end.ended_ns = io_now_ns();
		assert_ptr_equal(steps_find(a.steps, &end), followed);
		steps_end(a.steps, followed, &end);
		run(&a, 5000);
		r = only_record(&a);
		assert_string_equal(strrchr(id, '.') + 1, r->id);
		assert_null(r->partial);
		assert_string_equal(r->end, "exit 0");
		assert_true(r->samples >= 4 && r->missed >= 2);
		assert_true(r->elapsed_ns > 500000000 && r->begin_gap_ns < 100000000);
		assert_non_null(record_find(r, "step", M_CPU_US));
		record_free(r);
		no_trace(&a);
		stop(&a);
		remove_tree(a.folder);
	}
}

static pid_t dead_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* It was over before the next one came, and what it said at its end was heard, or comes, or not. */
static void a_step_ends_while_nobody_is_there(void **state)
{
	for (int heard = 0; heard < 3; heard++) {
		struct packet begin = packet_of(PACKET_STEP_BEGIN), end;
		struct agent a;
		struct step *step;
		struct record *r;

		(void)state;
		start(&a, test_folder());
		step = steps_begin(a.steps, &begin, dead_process());
		end = begin;
		end.kind = PACKET_STEP_END;
		end.ended_ns = io_now_ns();
		if (heard == 0)
			steps_end(a.steps, step, &end);
		stop(&a);
		start_again(&a, a.folder);
		assert_int_equal(followed != NULL, heard != 0);
		assert_int_equal(followed_pidfd, -1);
		if (heard)
			steps_end(a.steps, followed, heard == 1 ? &end : NULL);
		assert_int_equal(steps_count(a.steps), 0);
		r = only_record(&a);
		assert_string_equal(r->end, heard < 2 ? "exit 0" : "lost");
		assert_string_equal(r->partial, "sfabricd was not there when the step ended");
		record_free(r);
		no_trace(&a);
		stop(&a);
		remove_tree(a.folder);
	}
}

/* Killed when the record was spooled and the marker not removed yet: no second one. */
static void a_record_that_waits_is_not_made_again(void **state)
{
	struct packet begin = packet_of(PACKET_STEP_BEGIN);
	char name[256], *line = "{\"the\":\"whole one\"}", *path, *text;
	struct agent a;
	size_t len;

	(void)state;
	start(&a, test_folder());
	assert_non_null(steps_begin(a.steps, &begin, dead_process()));
	assert_int_equal(files_in(a.markers, name), 1);
	assert_int_equal(spool_put(a.spool, SPOOL_RECORD, strrchr(name, '.') + 1, line, NULL), 0);
	stop(&a);
	start_again(&a, a.folder);
	assert_null(followed);
	no_trace(&a);
	assert_int_equal(files_in(a.out, name), 1);
	path = io_format("%s/%s", a.out, name);
	assert_int_equal(io_read(path, 4096, &text, &len, NULL), 0);
	assert_non_null(strstr(text, line));
	free(text);
	free(path);
	stop(&a);
	remove_tree(a.folder);
}

/* Any bytes, cut anywhere: it is a marker, or it is removed. */
static void broken_markers(void **state)
{
	struct packet begin = packet_of(PACKET_STEP_BEGIN);
	char name[256], *path, *text;
	struct agent a;
	size_t len;

	(void)state;
	start(&a, test_folder());
	assert_non_null(steps_begin(a.steps, &begin, dead_process()));
	assert_int_equal(files_in(a.markers, name), 1);
	path = io_format("%s/%s", a.markers, name);
	assert_int_equal(io_read(path, 16384, &text, &len, NULL), 0);
	steps_leave(a.steps);
	for (size_t i = 0; i < 2 * len; i++) {
		size_t cut = i < len ? i : len;

		if (i >= len)
			text[i - len] = (char)(text[i - len] ^ 0x55);
		assert_int_equal(io_write_soon(path, text, cut, 0600, NULL), 0);
		if (i >= len)
			text[i - len] = (char)(text[i - len] ^ 0x55);
		followed = NULL;
		steps_recover(a.steps, follow, NULL);
		if (followed)
			steps_end(a.steps, followed, NULL);
		no_trace(&a);
	}
	free(text);
	free(path);
	stop(&a);
	remove_tree(a.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_is_recorded),
		cmocka_unit_test(a_short_step_makes_no_timeline),
		cmocka_unit_test(the_begin_sample_stands_for_the_next_instant),
		cmocka_unit_test(an_end_without_a_begin),
		cmocka_unit_test(killed_after_the_end),
		cmocka_unit_test(killed_while_it_ran),
		cmocka_unit_test(a_timeline_that_can_not_be_sealed),
		cmocka_unit_test(a_step_outlives_a_restart),
		cmocka_unit_test(a_step_ends_while_nobody_is_there),
		cmocka_unit_test(a_record_that_waits_is_not_made_again),
		cmocka_unit_test(broken_markers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
