/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.c - see wire.h.
 *
 * Munge says who is talking: every body is a credential, so HTTP itself needs no secrets, no
 * sessions and no TLS. A credential names cluster, method and path in its first line, because one
 * that was made for another purpose must not be usable here. munged refuses a replayed credential
 * but still hands out its payload: only EMUNGE_SUCCESS counts. libcurl never sees a proxy variable
 * of the user's environment, follows nothing and reads at most WIRE_MAX_BYTES.
 */
#include "wire.h"

#include <curl/curl.h>
#include <errno.h>
#include <munge.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "json.h"
#include "slurmconf.h"

#define CREDENTIAL_TTL_S 60
#define HEAD_FORMAT "slurm-fabric 1 %s %s %s\n"

char *wire_cluster(const struct conf *conf)
{
	struct slurmconf slurm = { 0 };
	char *cluster;

	if (conf->cluster && conf->cluster[0])
		return strdup(conf->cluster);
	if (slurmconf_load(conf->slurm_conf, &slurm, NULL) == -ENOMEM)
		cluster = NULL;
	else
		cluster = strdup(slurm.cluster ? slurm.cluster : "-");
	slurmconf_clear(&slurm);
	return cluster;
}

static char *make_head(const struct conf *conf, const char *method, const char *path)
{
	char *cluster = wire_cluster(conf), *head;

	head = cluster ? io_format(HEAD_FORMAT, cluster, method, path) : NULL;
	free(cluster);
	return head;
}

/* A munge context for conf's munged; NULL and err without memory or with a bad socket name. */
static munge_ctx_t make_context(const struct conf *conf, struct err *err)
{
	munge_ctx_t ctx = munge_ctx_create();
	munge_err_t rc = ctx ? EMUNGE_SUCCESS : EMUNGE_NO_MEMORY;

	if (rc == EMUNGE_SUCCESS && conf->munge_socket && conf->munge_socket[0])
		rc = munge_ctx_set(ctx, MUNGE_OPT_SOCKET, conf->munge_socket);
	if (rc == EMUNGE_SUCCESS)
		return ctx;
	err_set(err, ENOMEM, "munge: %s", munge_strerror(rc));
	if (ctx)
		munge_ctx_destroy(ctx);
	return NULL;
}

static char *encode(const struct conf *conf, const char *payload, uid_t uid, struct err *err)
{
	munge_ctx_t ctx = make_context(conf, err);
	char *credential = NULL;
	munge_err_t rc;

	if (!ctx)
		return NULL;
	rc = munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, uid);
	if (rc == EMUNGE_SUCCESS)
		rc = munge_ctx_set(ctx, MUNGE_OPT_TTL, CREDENTIAL_TTL_S);
	if (rc == EMUNGE_SUCCESS)
		rc = munge_encode(&credential, ctx, payload, (int)strlen(payload));
	if (rc != EMUNGE_SUCCESS) {
		const char *why = munge_ctx_strerror(ctx);

		err_set(err, EAGAIN, "munge can't make a credential: %s",
			why ? why : munge_strerror(rc));
		free(credential);
		credential = NULL;
	}
	munge_ctx_destroy(ctx);
	return credential;
}

char *wire_seal(const struct conf *conf, const char *method, const char *path, const char *json,
		uid_t uid, struct err *err)
{
	char *head = make_head(conf, method, path);
	char *payload = head ? io_format("%s%s", head, json ? json : "") : NULL;
	char *credential = NULL;

	if (!payload)
		err_set(err, ENOMEM, "out of memory");
	else if (strlen(payload) > WIRE_MAX_BYTES)
		err_set(err, E2BIG, "%s %s: %zu bytes are more than the %u that are sent", method,
			path, strlen(payload), WIRE_MAX_BYTES);
	else
		credential = encode(conf, payload, uid, err);
	free(payload);
	free(head);
	return credential;
}

/* What a munge error means to the one who asked: see wire_open(). */
static int refusal(munge_err_t code)
{
	switch (code) {
	case EMUNGE_CRED_EXPIRED:
	case EMUNGE_CRED_REWOUND:
		return ESTALE;
	case EMUNGE_SOCKET:
	case EMUNGE_TIMEOUT:
	case EMUNGE_NO_MEMORY:
	case EMUNGE_SNAFU:
		return EAGAIN;
	default:
		return EACCES;
	}
}

/* Checks the first line of payload against head and copies what follows. */
static int take_payload(const char *payload, int len, const char *head, char **json,
			struct err *err)
{
	size_t head_len = strlen(head);

	if (len < 0 || (size_t)len < head_len || memcmp(payload, head, head_len) != 0)
		return err_set(err, EACCES,
			       "the credential was made for something else than \"%.*s\"",
			       (int)head_len - 1, head);
	*json = strndup(payload + head_len, (size_t)len - head_len);
	if (!*json)
		return err_set(err, ENOMEM, "out of memory");
	if (strlen(*json) == (size_t)len - head_len)
		return 0;
	free(*json);
	*json = NULL;
	return err_set(err, EACCES, "the credential's text holds a NUL byte");
}

int wire_open(const struct conf *conf, const char *credential, const char *method, const char *path,
	      uid_t *uid, char **json, struct err *err)
{
	char *head = make_head(conf, method, path);
	munge_ctx_t ctx = head ? make_context(conf, err) : NULL;
	void *payload = NULL;
	munge_err_t code;
	gid_t gid;
	int len = 0, rc;

	*json = NULL;
	if (!ctx) {
		free(head);
		return err_set(err, ENOMEM, "out of memory");
	}
	code = munge_decode(credential, ctx, &payload, &len, uid, &gid);
	if (code == EMUNGE_SUCCESS)
		rc = take_payload(payload ? payload : "", len, head, json, err);
	else if (refusal(code) == ESTALE)
		rc = err_set(err, ESTALE, "the credential is %s; compare the clocks",
			     code == EMUNGE_CRED_EXPIRED ? "expired" : "rewound");
	else
		rc = err_set(err, refusal(code), "munge refuses the credential: %s",
			     munge_strerror(code));
	free(payload);
	munge_ctx_destroy(ctx);
	free(head);
	return rc;
}

/* ---- the client's side ---- */

struct sink { /* what comes back, bounded */
	char *text;
	size_t length;
};

/* Room for a credential around WIRE_MAX_BYTES: base64 makes 4 of 3. */
#define REPLY_MAX_BYTES (WIRE_MAX_BYTES / 3 * 4 + 4096)

static size_t receive(char *data, size_t size, size_t count, void *arg)
{
	struct sink *sink = arg;
	size_t n = size * count; /* libcurl: size is always 1 */
	char *grown;

	if (n > REPLY_MAX_BYTES - sink->length)
		return 0;
	grown = realloc(sink->text, sink->length + n + 1);
	if (!grown)
		return 0;
	memcpy(grown + sink->length, data, n);
	sink->text = grown;
	sink->length += n;
	grown[sink->length] = '\0';
	return n;
}

static void start_curl(void)
{
	curl_global_init(CURL_GLOBAL_NOTHING);
}

static void set_options(CURL *curl, const char *url, int timeout_ms, struct sink *sink)
{
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* whatever http_proxy says */
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)timeout_ms);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, sink);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "slurm-fabric");
}

/*
 * One exchange with one server. body: the POST's credential, NULL for a GET, whose credential is
 * then in auth. Returns 0 and fills status and json (still sealed for a GET), or -EHOSTUNREACH.
 */
static int exchange(const char *server, const char *path, const char *body, const char *auth,
		    int timeout_ms, struct wire_reply *reply, struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct curl_slist *headers = NULL, *more;
	struct sink sink = { NULL, 0 };
	char *url = io_format("http://%s%s", server, path);
	char *line = auth ? io_format("%s: %s", WIRE_AUTH_HEADER, auth)
			  : strdup("Content-Type: text/plain");
	CURLcode code = CURLE_OUT_OF_MEMORY;
	long status = 0;
	CURL *curl;

	pthread_once(&once, start_curl);
	curl = curl_easy_init();
	more = line ? curl_slist_append(NULL, line) : NULL;
	headers = more;
	more = headers ? curl_slist_append(headers, "Expect:")
		       : NULL; /* no wait for "100 Continue" */
	if (curl && url && more) {
		set_options(curl, url, timeout_ms, &sink);
		curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
		if (body) {
			curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
					 (curl_off_t)strlen(body));
			curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
		}
		reply->sent_ns = io_now_ns();
		code = curl_easy_perform(curl);
		reply->received_ns = io_now_ns();
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	}
	curl_slist_free_all(headers);
	if (curl)
		curl_easy_cleanup(curl);
	free(line);
	free(url);
	if (code != CURLE_OK || status < 200) {
		free(sink.text);
		return err_set(err, EHOSTUNREACH, "%s: %s", server, curl_easy_strerror(code));
	}
	reply->status = (int)status;
	reply->json = sink.text;
	reply->length = sink.length;
	return 0;
}

static int find_server_uid(const struct conf *conf, uid_t *uid, struct err *err)
{
	struct passwd entry, *found = NULL;
	char buffer[4096];
	int rc = getpwnam_r(conf->server_user, &entry, buffer, sizeof(buffer), &found);

	if (!found)
		return err_set(err, rc ? rc : ENOENT,
			       "%s: server_user = \"%s\": no such account here", conf->path,
			       conf->server_user);
	*uid = found->pw_uid;
	return 0;
}

/* Replaces a sealed body by its JSON; the sender must be the server. */
static int unseal_reply(const struct conf *conf, const char *path, uid_t server,
			struct wire_reply *reply, struct err *err)
{
	char *json = NULL;
	uid_t from = 0;
	int rc;

	rc = wire_open(conf, reply->json ? reply->json : "", "REPLY", path, &from, &json, err);
	if (rc == 0 && from != server)
		rc = err_set(err, EACCES,
			     "the answer comes from uid %u, not from server_user %s (uid %u)",
			     (unsigned int)from, conf->server_user, (unsigned int)server);
	if (rc < 0) {
		free(json);
		return rc;
	}
	free(reply->json);
	reply->json = json;
	reply->length = strlen(json);
	return 0;
}

/* HTTP's own status could be anybody's. */
static int take_status(struct wire_reply *reply, struct err *err)
{
	struct json_reader r = { .source = "reply", .err = err };
	json_object *object = json_parse(reply->json, reply->length, "reply", err);

	if (!object)
		return -EPROTO;
	reply->status = (int)json_read_int(&r, object, "status", 200, 599);
	json_object_put(object);
	return r.rc;
}

static int prove(const struct conf *conf, bool get, const char *path, uid_t server,
		 struct wire_reply *reply, struct err *err)
{
	bool needed = get ? reply->status == 200 : wire_final(reply->status);
	bool sealed = reply->json && !strncmp(reply->json, "MUNGE:", 6);
	int rc = needed || sealed ? unseal_reply(conf, path, server, reply, err) : 0;

	if (rc == 0 && sealed && !get)
		rc = take_status(reply, err);
	if (rc < 0 && needed)
		return rc;
	if (rc < 0) { /* a failure by its status, whatever it wants to say */
		free(reply->json);
		reply->json = NULL;
		reply->length = 0;
	}
	return 0;
}

/* A fresh credential for each server: one that was sent can't be sent again. */
static int ask(const struct conf *conf, const char *method, const char *path, const char *json,
	       int timeout_ms, struct wire_reply *reply, struct err *err)
{
	bool get = !json;
	uid_t server;
	int rc;

	memset(reply, 0, sizeof(*reply));
	rc = find_server_uid(conf, &server, err);
	if (rc < 0)
		return rc;
	rc = err_set(err, ENOTCONN, "%s names no server", conf->path);
	for (size_t i = 0; i < conf->server_count; i++) {
		char *credential = wire_seal(conf, method, path, json, server, err);

		if (!credential)
			return -EAGAIN;
		wire_reply_clear(reply);
		rc = exchange(conf->servers[i], path, get ? NULL : credential,
			      get ? credential : NULL, timeout_ms, reply, err);
		free(credential);
		rc = rc ? rc : prove(conf, get, path, server, reply, err);
		if (rc == 0)
			break;
	}
	if (rc < 0)
		wire_reply_clear(reply);
	return rc;
}

int wire_post(const struct conf *conf, const char *path, const char *json, int timeout_ms,
	      struct wire_reply *reply, struct err *err)
{
	return ask(conf, "POST", path, json, timeout_ms, reply, err);
}

int wire_get(const struct conf *conf, const char *path, int timeout_ms, struct wire_reply *reply,
	     struct err *err)
{
	return ask(conf, "GET", path, NULL, timeout_ms, reply, err);
}

void wire_reply_clear(struct wire_reply *reply)
{
	free(reply->json);
	memset(reply, 0, sizeof(*reply));
}
