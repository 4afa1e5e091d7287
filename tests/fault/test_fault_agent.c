/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fault_agent.c - sfabricd's core while calls fail: from packets to a record in the spool,
 * with its timeline; what a later run makes of it; and the spool itself. The sampler and the sender
 * are replaced, so that all of it is in one thread and each run meets the same calls.
 *
 * A record is there once and whole, and what it says is true, or the log says that there is none.
 */
#include <dirent.h>
#include <limits.h>
#include <sys/wait.h>

#include "fault.h"
#include "sender.h"
#include "steps.h"
#include "timeline.h"

#define PASSES 4
#define RX 4000 /* what all passes add up to: counts of 4 bytes */

/* ---- in the place of sampler.c and sender.c ---- */

static struct spool *spool;
static size_t said;

int sender_put(struct sender *s, enum spool_kind kind, const char *id, const char *json)
{
	int rc = spool_put(spool, kind, id, json, NULL);

	(void)s;
	said += rc < 0;
	return rc;
}

bool sender_holds(const struct sender *s, const char *id)
{
	(void)s;
	return spool_holds(spool, id);
}

bool sender_clock(struct sender *s, int64_t mono_ns, int64_t *offset_ns, int64_t *bound_ns)
{
	(void)s;
	(void)mono_ns;
	*offset_ns = *bound_ns = 0;
	return false;
}

uint64_t sampler_request(struct sampler *s)
{
	(void)s;
	return 1;
}

void sampler_interval(struct sampler *s, int64_t ns)
{
	(void)s;
	(void)ns;
}

int sampler_watch(struct sampler *s, uint64_t key, pid_t stepd, uint32_t job, uint32_t step)
{
	(void)s;
	(void)key;
	(void)stepd;
	(void)job;
	(void)step;
	return 0;
}

void sampler_adopt_all(struct sampler *s)
{
	(void)s;
}

void sampler_task(struct sampler *s, uint64_t key, pid_t pid)
{
	(void)s;
	(void)key;
	(void)pid;
}

void sampler_unwatch(struct sampler *s, uint64_t key)
{
	(void)s;
	(void)key;
}

bool sampler_hung(struct sampler *s, char *path, size_t size)
{
	(void)s;
	(void)path;
	(void)size;
	return false;
}

/* ---- a run of sfabricd ---- */

static void say(int level, const char *text)
{
	(void)text;
	said += level <= LOG_NOTICE;
}

static const struct agent_log log_here = { say };
static const struct conf conf = { .sample_ns = 1000000000,
				  .sample_min_ns = 1000000000,
				  .sample_max_ns = 1000000000,
				  .spool_max = 16u << 20 };

static char *timelines;

static struct steps *start(void)
{
	static char folder[PATH_MAX];
	struct steps_with with = { .conf = &conf,
				   .node = "n1",
				   .timelines = timelines,
				   .markers = folder,
				   .log = &log_here };

	snprintf(folder, sizeof(folder), "%s/steps", fault_folder());

	spool = spool_open(fault_folder(), NULL);
	return spool ? steps_new(&with) : NULL;
}

static void stop(struct steps *steps)
{
	steps_free(steps);
	spool_free(spool);
	spool = NULL;
}

/* A step that was taken over ends at once. */
static struct steps *following;

static void follow(void *arg, struct step *step, pid_t stepd, int pidfd)
{
	(void)arg;
	(void)stepd;
	if (pidfd >= 0)
		close(pidfd);
	steps_end(following, step, NULL);
}

static const struct packet *packet_of(enum packet_kind kind)
{
	static struct packet p;

	memset(&p, 0, sizeof(p));
	p.kind = kind;
	p.job = 7;
	p.step = 3;
	p.node_count = 1;
	p.gpus_known = true;
	strcpy(p.gpus, "0,1");
	strcpy(p.class, "compact");
	p.tasks = p.cores = PACKET_UNKNOWN;
	p.began_ns = io_now_ns() - PASSES * 1000000000LL;
	p.began_mono_ns = io_mono_ns() - PASSES * 1000000000LL;
	p.ended_ns = io_now_ns();
	p.status_known = true;
	return &p;
}

static const struct series rx = { "infiniband",
				  (char *)"port_rcv_data",
				  (char *)"mlx5_0:1",
				  M_RX_BYTES,
				  SCOPE_NODE,
				  SERIES_WRAPS,
				  64,
				  4,
				  false };
static const struct series *all_series[] = { &rx };
static const struct sampler_series node_series = { all_series, 1 };

/* The n-th sample, a second after the one before; the last one answers the end. */
static void pass(struct steps *steps, const struct packet *begin, int n, bool end)
{
	int64_t after = n * 1000000000LL;
	uint64_t value = 5 + (uint64_t)n * RX / 4 / (PASSES - 1);
	bool valid = true;
	struct sampler_own own = { 1, 100 + (uint64_t)n, true };
	struct sampler_pass p = { .t_ns = begin->began_ns + after,
				  .mono_ns = begin->began_mono_ns + after,
				  .nominal_ns = end ? 0 : begin->began_mono_ns + after,
				  .ticket = n == 0 || end,
				  .series = &node_series,
				  .values = &value,
				  .valid = &valid,
				  .own = &own,
				  .own_count = 1 };

	steps_pass(steps, &p);
}

/* ---- what is there afterwards ---- */

static size_t complete, partial;

/* A record is whole, and what it says is true: a total is known only if it is the right one. */
static void check_record(struct record *r, struct err *err)
{
	const struct record_value *value;

	if (!r)
		fault_broken(__FILE__, __LINE__, err->text);
	must(r->job == 7 && r->step == 3);
	value = record_find(r, "mlx5_0:1", M_RX_BYTES);
	must(!value || value->total == RX || r->partial);
	must(r->partial || value);
	must(r->partial || !r->end || !strcmp(r->end, "exit 0"));
	complete += !r->partial;
	partial += r->partial != NULL;
	record_free(r);
}

static void check_record_file(const char *path)
{
	struct err err = { "" };
	char *text;
	size_t len;

	if (strstr(path, "/begin-"))
		return;
	must(io_read(path, 1u << 20, &text, &len, NULL) == 0);
	check_record(record_parse(text, len, path, &err), &err);
	free(text);
}

/* A timeline that is there can be read, and its record is right. */
static void check_timeline(const char *path)
{
	struct err err = { "" };
	struct timeline_view *v = timeline_open(path, &err);

	if (!v)
		fault_broken(__FILE__, __LINE__, err.text);
	timeline_view_free(v);
}

static size_t markers;

static void count_marker(const char *path)
{
	markers += strstr(path, "/steps/") != NULL;
}

/* No half-written file is left: SQLite's own beside a timeline go when it is opened, or trimmed. */
static void check_names(void)
{
	static const char *const ends[] = { ".json",   ".db",	      ".db-wal",
					    ".db-shm", ".db-journal", ".db.bad" };
	size_t known = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		known += fault_files(ends[i], NULL);
	markers = 0;
	must(fault_files("", count_marker) == known + markers);
}

/* What the spool keeps in memory is moved to the disk by the next call. */
static void check_spool(void)
{
	struct spool_item item;

	complete = partial = 0;
	if (spool) {
		spool_next(spool, &item);
		spool_item_clear(&item);
	}
	fault_look();
	fault_files(".json", check_record_file);
	must(complete + partial <= 1);
	check_names();
}

/* The next run finds what was left, and then there is one record and no unfinished timeline. */
static void recover(void)
{
	struct steps *steps = start();

	following = steps;
	steps_recover(steps, follow, NULL);
	check_spool();
	must(fault_files("-wal", NULL) == 0);
	fault_files(".db", check_timeline);
	stop(steps);
}

/* ---- steps ---- */

static void a_step(void)
{
	struct packet begin = *packet_of(PACKET_STEP_BEGIN), end = *packet_of(PACKET_STEP_END);
	struct steps *steps;
	struct step *step = NULL;

	timelines = io_format("%s/timelines", fault_folder());
	said = 0;
	fault_on();
	steps = start();
	if (steps)
		step = steps_begin(steps, &begin, 0);
	for (int i = 0; step && i < PASSES - 1; i++)
		pass(steps, &begin, i, false);
	if (steps)
		steps_tick(steps, io_mono_ns());
	if (step) {
		steps_end(steps, step, &end);
		pass(steps, &begin, PASSES - 1, true);
		steps_tick(steps, io_mono_ns() + 60000000000LL); /* for a pass without memory */
	}
	fault_off();
	must(steps || fault_hit());
	if (steps) {
		must(steps_count(steps) == 0);
		check_spool();
		must(complete + partial == 1 || said > 0);
		must(complete == 1 || fault_hit());
	}
	stop(steps);
	recover();
	free(timelines);
}

static void an_end_alone(void)
{
	struct packet end = *packet_of(PACKET_STEP_END);
	struct steps *steps;

	timelines = io_format("%s/timelines", fault_folder());
	said = 0;
	fault_on();
	steps = start();
	if (steps)
		steps_end_alone(steps, &end);
	fault_off();
	if (steps) {
		check_spool();
		must(complete == 0); /* whatever there was no memory for */
		must(partial == 1 || said > 0);
	}
	stop(steps);
	free(timelines);
}

/* sfabricd is stopped while the step runs. */
static void a_stop(void)
{
	struct packet begin = *packet_of(PACKET_STEP_BEGIN);
	struct steps *steps = NULL;
	struct step *step;

	timelines = io_format("%s/timelines", fault_folder());
	steps = start();
	step = steps_begin(steps, &begin, 0);
	for (int i = 0; i < PASSES - 1; i++)
		pass(steps, &begin, i, false);
	must(step != NULL);
	said = 0;
	fault_on();
	steps_stop(steps, "sfabricd was stopped");
	fault_off();
	check_spool();
	must(complete == 0 && (partial == 1 || said > 0));
	stop(steps);
	recover();
	free(timelines);
}

/* Killed with a step that lived; the next run takes it over, and finds it over. */
static void a_restart(void)
{
	struct packet begin = *packet_of(PACKET_STEP_BEGIN);
	struct steps *steps;

	timelines = io_format("%s/timelines", fault_folder());
	steps = start();
	must(steps_begin(steps, &begin, 0) != NULL);
	for (int i = 0; i < PASSES - 1; i++)
		pass(steps, &begin, i, false);
	stop(steps);
	steps = start();
	said = 0;
	following = steps;
	fault_on();
	steps_recover(steps, follow, NULL);
	fault_off();
	check_spool();
	must(complete == 0 && (partial == 1 || said > 0));
	stop(steps);
	recover();
	must(partial == 1);
	fault_look();
	markers = 0;
	fault_files("", count_marker);
	must(markers == 0);
	free(timelines);
}

/* ---- what a killed run left ---- */

static char *db_bytes, *wal_bytes, *left_name;
static size_t db_len, wal_len;

/* Once: a step that was sampled, and whose end never came, as the disk has it then. */
static void make_left_over(void)
{
	struct packet begin = *packet_of(PACKET_STEP_BEGIN);
	struct steps *steps = start();
	char *path, *wal;
	struct dirent *entry;
	DIR *dir;

	must(steps_begin(steps, &begin, 0) != NULL);
	for (int i = 0; i < PASSES - 1; i++)
		pass(steps, &begin, i, false);
	dir = opendir(timelines);
	while ((entry = readdir(dir)))
		if (strlen(entry->d_name) > 3 &&
		    !strcmp(entry->d_name + strlen(entry->d_name) - 3, ".db"))
			left_name = strdup(entry->d_name);
	closedir(dir);
	path = io_format("%s/%s", timelines, left_name);
	wal = io_format("%s-wal", path);
	must(io_read(path, 1u << 20, &db_bytes, &db_len, NULL) == 0);
	must(io_read(wal, 1u << 20, &wal_bytes, &wal_len, NULL) == 0);
	steps_stop(steps, "the test");
	stop(steps);
	free(path);
	free(wal);
}

static void put_left_over(void)
{
	char *path = io_format("%s/%s", timelines, left_name), *wal = io_format("%s-wal", path);

	must(io_mkdirs(timelines, 0700, NULL) == 0);
	must(io_write_soon(path, db_bytes, db_len, 0600, NULL) == 0);
	must(io_write_soon(wal, wal_bytes, wal_len, 0600, NULL) == 0);
	free(path);
	free(wal);
}

static void a_recovery(void)
{
	struct steps *steps;
	size_t bad;

	timelines = io_format("%s/timelines", fault_folder());
	if (!left_name) {
		make_left_over();
		free(timelines);
		return;
	}
	put_left_over();
	steps = start();
	said = 0;
	fault_on();
	following = steps;
	steps_recover(steps, follow, NULL);
	fault_off();
	check_spool();
	must(complete == 0);
	bad = fault_files(".bad", NULL);
	must(partial == 1 || bad == 1 || fault_files("-wal", NULL) == 1);
	must(bad == 0 || !fault_hit_memory()); /* SQLite takes a disk's error for a broken file */
	stop(steps);
	recover();
	must(partial + bad == 1);
	free(timelines);
}

/* ---- the spool ---- */

static const char id[] = "0123456789abcdef0123456789abcdef";

/* What was taken comes out, or the error said otherwise. */
static void a_spool(void)
{
	struct spool_item item = { .kind = SPOOL_RECORD };
	struct err err = { "" };
	int rc = -1, next = 0;
	char *json = NULL;

	fault_on();
	spool = spool_open(fault_folder(), &err);
	if (spool) {
		rc = spool_put(spool, SPOOL_RECORD, id, "{\"a\":1}", &err);
		spool_sync(spool, NULL);
		next = spool_next(spool, &item);
	}
	fault_off();
	must(spool || err.text[0]);
	must(rc == 0 || err.text[0]);
	must(!next || !strcmp(item.json, "{\"a\":1}"));
	spool_item_clear(&item);
	if (rc >= 0 && !next) { /* it is there all the same */
		must(fault_hit() && spool_next(spool, &item) == 1);
		must(!strcmp(item.json, "{\"a\":1}"));
		spool_item_clear(&item);
	}
	free(json);
	stop(NULL);
}

static void a_refusal(void)
{
	struct spool_item item;
	struct err err = { "" };
	int rc;

	spool = spool_open(fault_folder(), NULL);
	must(spool_put(spool, SPOOL_RECORD, id, "{\"a\":1}", NULL) == 0);
	must(spool_next(spool, &item) == 1);
	fault_on();
	rc = spool_refuse(spool, &item, &err);
	fault_off();
	if (rc < 0)
		must_explain(&err);
	fault_look();
	must(fault_hit() || fault_files(".json", NULL) == 1);
	must(fault_files(".json", NULL) >= 1 || rc < 0);
	must(fault_files("", NULL) == fault_files(".json", NULL));
	spool_item_clear(&item);
	stop(NULL);
}

static bool none_live(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return false;
}

static void a_trim(void)
{
	char *path = io_format("%s/a.db", fault_folder()),
	     *other = io_format("%s/b.db", fault_folder());
	struct err err = { "" };
	size_t deleted;
	int rc;

	must(io_write_soon(path, "0123456789", 10, 0600, NULL) == 0);
	must(io_write_soon(other, "0123456789", 10, 0600, NULL) == 0);
	fault_on();
	rc = timeline_trim(fault_folder(), 4096, none_live, NULL, &deleted, &err);
	fault_off();
	if (rc < 0)
		must_explain(&err);
	else
		must(deleted == 1);
	free(path);
	free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_WORK(a_spool),	  FAULT_WORK(a_refusal),  FAULT_WORK(a_trim),
		FAULT_WORK(a_step),	  FAULT_WORK(a_stop),	  FAULT_WORK(a_restart),
		FAULT_WORK(an_end_alone), FAULT_WORK(a_recovery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
