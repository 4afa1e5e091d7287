/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fault_server.c - sfabricctld while calls fail: its store, its answers to messages, and the
 * story it tells of a job. What was acknowledged is in the store; what was not is not refused for
 * good; a story is the whole one or none.
 *
 * Everything is in one thread, with the store in a folder, munge replaced, and the messages of
 * tests/data/fuzz/api/small-job.
 */
#include <munge.h>

#include "api.h"
#include "bare_service.h"
#include "fault.h"
#include "json.h"
#include "slurm_call.h"

/* ---- munge: every credential is good, root's, and what it is made of ---- */

static char *credential;

munge_err_t __wrap_munge_decode(const char *cred, munge_ctx_t ctx, void **buf, int *len, uid_t *uid,
				gid_t *gid);
munge_err_t __wrap_munge_encode(char **cred, munge_ctx_t ctx, const void *buf, int len);

munge_err_t __wrap_munge_decode(const char *cred, munge_ctx_t ctx, void **buf, int *len, uid_t *uid,
				gid_t *gid)
{
	(void)cred;
	(void)ctx;
	*uid = 0;
	*gid = 0;
	*len = (int)strlen(credential);
	*buf = strdup(credential);
	return *buf ? EMUNGE_SUCCESS : EMUNGE_NO_MEMORY;
}

munge_err_t __wrap_munge_encode(char **cred, munge_ctx_t ctx, const void *buf, int len)
{
	(void)ctx;
	*cred = strndup(buf, (size_t)len);
	return *cred ? EMUNGE_SUCCESS : EMUNGE_NO_MEMORY;
}

/* ---- the service ---- */

static struct conf conf = BARE_CONF(TEST_DATA "/fuzz/fabric/two-hosts");
static struct service service = BARE_SERVICE(&conf);

enum { BEGIN, MAP, RECORD, FACTS, PARTS };
static char *parts[PARTS]; /* the texts of small-job */

static void read_parts(void)
{
	size_t len;
	char *text = test_data("fuzz/api/small-job", &len);

	for (int i = 0; i < PARTS; i++) {
		char *end = strstr(text, "\n%%\n");

		must(end != NULL);
		*end = '\0';
		parts[i] = strchr(text, '\n') + 1;
		text = end + strlen("\n%%\n");
	}
	sem_init(&service.stories, 0, SERVICE_STORIES);
}

static void open_store(void)
{
	char *path = io_format("%s/store.db", fault_folder());

	if (!parts[0])
		read_parts();
	service.store = store_open(path, NULL);
	must(service.store != NULL);
	free(path);
}

static void close_store(void)
{
	store_close(service.store);
	fabric_free(service.fabric);
	service.store = NULL;
	service.fabric = NULL;
	service.fabric_known = false;
}

static struct record *the_record(void)
{
	struct record *r = record_parse(parts[RECORD], strlen(parts[RECORD]), "record", NULL);

	must(r != NULL);
	return r;
}

static struct store_begin begin_of(const struct record *r)
{
	return (struct store_begin){ .job = r->job,
				     .step = r->step,
				     .node = r->node,
				     .node_count = 1,
				     .class = (char *)"compact",
				     .began_ns = r->begin_ns };
}

static int set_facts(struct err *err)
{
	json_object *object = json_tokener_parse(parts[FACTS]);
	struct job_facts *f = job_facts_from_json(object, err);
	struct store_identity id;
	int64_t key;
	int rc = f ? store_find_job(service.store, f->job, &key, err) : -ENOMEM;

	if (rc == 0) {
		id =
			(struct store_identity){ f->job,       f->submit_s,  f->start_s,
						 f->end_s,     f->restarts,  f->array,
						 f->array_job, f->array_task };
		rc = store_set_facts(service.store, &key, &id, parts[FACTS], err);
	}
	job_facts_free(f);
	json_object_put(object);
	return rc;
}

/* All that is known of the job, without faults. */
static void fill_store(void)
{
	struct record *r;
	struct store_begin b;

	open_store();
	r = the_record();
	b = begin_of(r);
	must(store_put_begin(service.store, &b, io_now_ns(), NULL) == 0);
	must(store_put_map(service.store, "n1", parts[MAP], io_now_ns(), NULL) == 0);
	must(store_put_record(service.store, r, parts[RECORD], true, io_now_ns(), NULL) == 0);
	must(set_facts(NULL) == 0);
	record_free(r);
}

/* ---- the store ---- */

static int count_record(void *arg, const char *json)
{
	must(!strcmp(json, parts[RECORD]));
	(*(size_t *)arg)++;
	return 0;
}

/* Of all rows that there can be. */
static size_t records_in_store(void)
{
	size_t count = 0;

	for (int64_t key = 1; key < 8; key++)
		must(store_each_record(service.store, key, count_record, &count, NULL) == 0);
	return count;
}

static void a_store_is_filled(void)
{
	struct record *r = NULL;
	struct err err = { "" };
	struct store_begin b;
	char *path = io_format("%s/store.db", fault_folder()), *json = NULL;
	int begun = -1, mapped = -1, recorded = -1;
	struct store *store;

	if (!parts[0])
		read_parts();
	r = the_record();
	b = begin_of(r);
	fault_on();
	store = store_open(path, &err);
	if (store) {
		begun = store_put_begin(store, &b, io_now_ns(), &err);
		mapped = store_put_map(store, "n1", parts[MAP], io_now_ns(), &err);
		recorded = store_put_record(store, r, parts[RECORD], true, io_now_ns(), &err);
		store_close(store);
	}
	fault_off();
	if (begun < 0 || mapped < 0 || recorded < 0)
		must_explain(&err);
	open_store(); /* as the next sfabricctld does */
	/* a commit that could not be synced may be there: whoever sent it sends it again */
	must(recorded < 0 || records_in_store() == 1);
	must(records_in_store() <= 1);
	must(mapped < 0 || store_get_map(service.store, "n1", 0, &json, NULL) == 0);
	free(json);
	free(path);
	record_free(r);
	close_store();
}

/* Reading: the right answer, or an error. */
static void a_store_is_read(void)
{
	struct store_begin *begins = NULL;
	struct store_job job = { 0 };
	struct err err = { "" };
	size_t count = 0, records = 0, jobs = 0;
	int64_t key = 0, *keys = NULL;
	bool complete = false;
	char *map = NULL;
	int rc;

	fill_store();
	fault_on();
	rc = store_find_job(service.store, 7, &key, &err);
	rc = rc ? rc : store_get_job(service.store, key, &job, &err);
	rc = rc ? rc : store_get_begins(service.store, key, &begins, &count, &err);
	rc = rc ? rc : store_each_record(service.store, key, count_record, &records, &err);
	rc = rc ? rc : store_complete(service.store, key, &complete, &err);
	rc = rc ? rc : store_open_jobs(service.store, &keys, &jobs, &err);
	rc = rc ? rc : store_get_map(service.store, "n1", 0, &map, &err);
	fault_off();
	if (rc < 0) {
		must_explain(&err);
		must(rc != -ENOENT); /* it is there */
	} else {
		must(job.job == 7 && job.facts && !strcmp(job.facts, parts[FACTS]) && job.open);
		must(count == 1 && !strcmp(begins[0].node, "n1") &&
		     !strcmp(begins[0].class, "compact"));
		must(records == 1 && complete && jobs == 1 && !strcmp(map, parts[MAP]));
	}
	for (size_t i = 0; i < count; i++)
		store_begin_clear(&begins[i]);
	store_job_clear(&job);
	free(begins);
	free(keys);
	free(map);
	close_store();
}

/* A row is changed as a whole, or not. */
static void a_job_is_followed(void)
{
	struct store_job job = { 0 }, after = { 0 };
	struct err err = { "" };
	int64_t key;
	int rc;

	fill_store();
	must(store_find_job(service.store, 7, &key, NULL) == 0);
	must(store_get_job(service.store, key, &job, NULL) == 0);
	free(job.field_text);
	job.field_text = strdup("{}");
	job.field = FIELD_FINAL;
	job.seen_arrivals = job.arrivals;
	fault_on();
	rc = store_save_job(service.store, &job, &err);
	rc = rc ? rc : set_facts(&err);
	rc = rc ? rc : store_close_job(service.store, key, &err);
	fault_off();
	if (rc < 0)
		must_explain(&err);
	must(store_get_job(service.store, key, &after, NULL) == 0);
	must((after.field == FIELD_FINAL) == (after.field_text != NULL));
	must(rc < 0 || (after.field == FIELD_FINAL && !after.open));
	must(after.open || after.field == FIELD_FINAL);
	store_job_clear(&job);
	store_job_clear(&after);
	close_store();
}

/* A requeue moves messages to a new row: none falls between. */
static void a_job_is_superseded(void)
{
	struct record *r;
	struct err err = { "" };
	int64_t key;
	int rc;

	fill_store();
	r = the_record();
	must(store_find_job(service.store, 7, &key, NULL) == 0);
	fault_on();
	rc = store_supersede(service.store, key, r->begin_ns / 1000000000 - 10, &err);
	fault_off();
	if (rc < 0)
		must_explain(&err);
	must(records_in_store() == 1);
	must(store_find_job(service.store, 7, &key, NULL) == 0);
	record_free(r);
	close_store();
}

static void an_old_job_is_forgotten(void)
{
	struct err err = { "" };
	int64_t key, later = io_now_ns() + 2 * STORE_KEEP_S * INT64_C(1000000000);
	struct store_job job;
	bool more = false;
	int rc;

	fill_store();
	must(store_find_job(service.store, 7, &key, NULL) == 0);
	must(store_get_job(service.store, key, &job, NULL) == 0);
	job.seen_arrivals = job.arrivals;
	must(store_save_job(service.store, &job, NULL) == 0);
	store_job_clear(&job);
	must(store_close_job(service.store, key, NULL) == 0);
	fault_on();
	rc = store_forget(service.store, later, STORE_MAX_BYTES, &more, &err);
	fault_off();
	if (rc < 0)
		must_explain(&err);
	must(records_in_store() == (rc < 0));
	close_store();
}

/* ---- messages and questions ---- */

static struct http_reply ask(const char *method, const char *path, const char *text)
{
	struct http_request request = { method, path, "", text, strlen(text) };
	struct http_reply reply = { 0, NULL, NULL };

	credential = io_format("slurm-fabric 1 c1 %s %s\n%s", method, path, text);
	fault_on();
	api_handle(&service, &request, &reply);
	fault_off();
	free(credential);
	return reply;
}

/* A message that is right is taken, or its sender is told to come again: never refused for good. */
static void send_message(const char *path, int part)
{
	struct http_reply reply;

	open_store();
	reply = ask("POST", path, parts[part]);
	must(reply.status == 200 || (fault_hit() && reply.status >= 500));
	if (part == RECORD && reply.status == 200) /* else it may be, and comes again */
		must(records_in_store() == 1);
	free(reply.body);
	close_store();
}

static void a_begin_is_taken(void)
{
	send_message("/v1/begin", BEGIN);
}

static void a_map_is_taken(void)
{
	send_message("/v1/map", MAP);
}

static void a_record_is_taken(void)
{
	send_message("/v1/record", RECORD);
}

static void check_text(char *text)
{
	static char *expected;

	fault_same(text, &expected);
}

static void a_story_is_asked_for(void)
{
	struct http_reply reply;

	fill_store();
	service_refresh_fabric(&service);
	reply = ask("GET", "/v1/jobs/7", "");
	must(reply.status == 200 || (fault_hit() && reply.status >= 500));
	if (reply.status == 200)
		check_text(reply.body);
	else
		free(reply.body);
	close_store();
}

/* A fabric that could not be read is read when it can be. */
static void a_fabric_is_loaded(void)
{
	fault_on();
	service_refresh_fabric(&service);
	fault_off();
	service_refresh_fabric(&service);
	must(service.fabric != NULL);
	fabric_free(service.fabric);
	service.fabric = NULL;
	service.fabric_known = false;
}

/* What is written into AdminComment. */
static void a_field_is_made(void)
{
	struct service_story ss;
	struct store_job job;
	json_object *field = NULL;
	struct err err = { "" };
	char *text = NULL;
	int64_t key;
	int rc;

	fill_store();
	service_refresh_fabric(&service);
	must(store_find_job(service.store, 7, &key, NULL) == 0);
	must(store_get_job(service.store, key, &job, NULL) == 0);
	fault_on();
	rc = service_story_load(&service, &job, true, &ss, &err);
	if (rc == 0) {
		field = story_field(&ss.story, 8192);
		text = field ? json_line(field) : NULL;
		json_object_put(field);
		service_story_clear(&ss);
	}
	fault_off();
	if (rc < 0)
		must_explain(&err);
	must(text || fault_hit());
	if (text)
		check_text(text);
	store_job_clear(&job);
	close_store();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_WORK(a_store_is_filled),	     FAULT_WORK(a_store_is_read),
		FAULT_WORK(a_job_is_followed),	     FAULT_WORK(a_job_is_superseded),
		FAULT_WORK(an_old_job_is_forgotten), FAULT_WORK(a_begin_is_taken),
		FAULT_WORK(a_map_is_taken),	     FAULT_WORK(a_record_is_taken),
		FAULT_WORK(a_fabric_is_loaded),	     FAULT_WORK(a_story_is_asked_for),
		FAULT_WORK(a_field_is_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
