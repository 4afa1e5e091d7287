/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_api.c - sfabricctld behind its HTTP server and munged: messages and questions of root, with
 * a store in memory. The input is requests, each a line "POST /v1/record" or "GET /v1/jobs/17" and
 * its text up to a line "%%"; "FACTS 17" is Slurm's word on the job. Whatever it says, each request
 * has an answer, and one that was taken can be shown.
 */
#include "api.h"
#include "bare_service.h"
#include "fuzz.h"
#include "json.h"

#define REQUESTS 16

static struct conf conf = BARE_CONF(TEST_DATA "/contract/fabric.json");
static struct service service = BARE_SERVICE(&conf);

/* What fields.c does with an answer of Slurm's. */
static void take_facts(const char *name, const char *text)
{
	json_object *object = json_parse(text, strlen(text), "facts", NULL);
	struct job_facts *f = object ? job_facts_from_json(object, NULL) : NULL;
	int64_t key;

	if (f && store_find_job(service.store, (uint32_t)atoi(name), &key, NULL) == 0) {
		struct store_identity id = {
			f->job,	     f->submit_s, f->start_s,	f->end_s,
			f->restarts, f->array,	  f->array_job, f->array_task
		};

		must(store_set_facts(service.store, &key, &id, text, NULL) == 0);
	}
	job_facts_free(f);
	json_object_put(object);
}

static void check_reply(const struct http_reply *reply)
{
	json_object *object;

	must(reply->status >= 200 && reply->status <= 503 && reply->body);
	must(reply->status != 500);
	if (reply->type) /* sealed */
		return;
	object = fuzz_have(json_parse(reply->body, strlen(reply->body), "reply", NULL));
	must(json_object_is_type(object, json_type_object));
	json_object_put(object);
}

static void ask(const char *method, const char *path, const char *text)
{
	struct http_request request = { method, path, "", text, strlen(text) };
	struct http_reply reply = { 0, NULL, NULL };
	char *payload = fuzz_have(io_format("slurm-fabric 1 c1 %s %s\n%s", method, path, text));

	fuzz_wrap_credential(payload, strlen(payload));
	api_handle(&service, &request, &reply);
	check_reply(&reply);
	free(reply.body);
	free(payload);
}

static void take(char *text)
{
	char *body = text + strcspn(text, "\n"), *path = strchr(text, ' ');

	if (*body)
		*body++ = '\0';
	if (!path || path > body)
		return;
	*path++ = '\0';
	if (!strcmp(text, "FACTS"))
		take_facts(path, body);
	else
		ask(!strcmp(text, "POST") ? "POST" : "GET", path, body);
}

static void run(const char *data, size_t len)
{
	char *text = fuzz_text(data, len), *parts[REQUESTS];
	size_t count = fuzz_cut(text, parts, REQUESTS);
	static bool ready;

	if (!ready)
		sem_init(&service.stories, 0, SERVICE_STORIES);
	ready = true;
	service.store = fuzz_have(store_open(":memory:", NULL));
	for (size_t i = 0; i < count; i++)
		take(parts[i]);
	store_close(service.store);
	service.store = NULL;
	free(text);
}

const struct fuzz_target fuzz_api = { "api", "", run };
