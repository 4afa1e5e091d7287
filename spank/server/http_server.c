/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * http_server.c - see http_server.h.
 *
 * libmicrohttpd's own timeout counts silence only: a client that sends one byte every nine seconds
 * would hold a connection for days. So each connection is in a list with its birth, and one thread
 * shuts down those that are too old; the list's lock is held while libmicrohttpd says that it
 * closes a socket, so that a number in the list is always the socket it was.
 */
#include "http_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "wire.h"

#define NS_PER_S INT64_C(1000000000)

struct connection { /* one client; libmicrohttpd keeps the pointer as its socket context */
	struct connection *next, **self;
	int fd;
	int64_t born_ns;
	bool complete; /* the request is here */
};

struct http_server {
	struct MHD_Daemon *daemon;
	http_handler *handler;
	void *arg;
	pthread_t sweeper;
	pthread_mutex_t lock;
	pthread_cond_t ending;
	bool stop;
	struct connection *connections;
	atomic_size_t body_bytes; /* of all requests */
};

struct request { /* the request of a connection while its body comes in */
	char *body;
	size_t length;
	int refused; /* HTTP status; 0: not */
};

/* ---- connections ---- */

static void connection_open(struct http_server *s, struct MHD_Connection *mhd, void **context)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct connection *c = calloc(1, sizeof(*c));

	*context = c;
	if (!c || !info) {
		free(c);
		*context = NULL;
		return;
	}
	c->fd = info->connect_fd;
	c->born_ns = io_mono_ns();
	pthread_mutex_lock(&s->lock);
	c->next = s->connections;
	c->self = &s->connections;
	if (c->next)
		c->next->self = &c->next;
	s->connections = c;
	pthread_mutex_unlock(&s->lock);
}

static void connection_close(struct http_server *s, struct connection *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&s->lock);
	*c->self = c->next;
	if (c->next)
		c->next->self = c->self;
	pthread_mutex_unlock(&s->lock);
	free(c);
}

static void on_connection(void *arg, struct MHD_Connection *mhd, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		connection_open(arg, mhd, context);
	} else {
		connection_close(arg, *context);
		*context = NULL;
	}
}

static void note_complete(struct http_server *s, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct connection *c = info ? info->socket_context : NULL;

	pthread_mutex_lock(&s->lock);
	if (c)
		c->complete = true;
	pthread_mutex_unlock(&s->lock);
}

static void *sweep(void *arg)
{
	struct http_server *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		struct timespec until;
		int64_t now = io_mono_ns();

		for (struct connection *c = s->connections; c; c = c->next) {
			int64_t most = c->complete ? HTTP_LIFETIME_S : HTTP_REQUEST_S;

			if (now - c->born_ns > most * NS_PER_S)
				shutdown(c->fd, SHUT_RDWR);
		}
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += 1;
		pthread_cond_timedwait(&s->ending, &s->lock, &until);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- requests ---- */

static enum MHD_Result answer(struct MHD_Connection *mhd, struct http_reply *reply)
{
	struct MHD_Response *response;
	enum MHD_Result rc;

	if (!reply->body)
		reply->body = io_format("{\"error\":\"%d\"}\n", reply->status);
	if (!reply->body)
		return MHD_NO;
	response = MHD_create_response_from_buffer(strlen(reply->body), reply->body,
						   MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(reply->body);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Content-Type",
				reply->type ? reply->type : "application/json");
	MHD_add_response_header(response, "Connection", "close");
	if (reply->status == 405)
		MHD_add_response_header(response, "Allow", "GET, POST");
	rc = MHD_queue_response(mhd, (unsigned int)reply->status, response);
	MHD_destroy_response(response);
	return rc;
}

static enum MHD_Result refuse(struct MHD_Connection *mhd, int status, const char *why)
{
	struct http_reply reply = { status, io_format("{\"error\":\"%s\"}\n", why), NULL };

	return answer(mhd, &reply);
}

/* A length that is announced and too large is refused before the first byte of the body. */
static bool announced_too_long(struct MHD_Connection *mhd)
{
	const char *text = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, "Content-Length");

	return text && (strlen(text) > 9 || strtoul(text, NULL, 10) > HTTP_MAX_BODY);
}

static void drop_body(struct http_server *s, struct request *r)
{
	atomic_fetch_sub(&s->body_bytes, r->length);
	free(r->body);
	r->body = NULL;
	r->length = 0;
}

/* What is refused is read on and forgotten: the answer comes after the body. */
static void collect(struct http_server *s, struct request *r, const char *data, size_t size)
{
	char *grown = NULL;

	if (r->refused)
		return;
	if (size > HTTP_MAX_BODY - r->length)
		r->refused = 413;
	else if (atomic_load(&s->body_bytes) + size > HTTP_MAX_BODIES ||
		 !(grown = realloc(r->body, r->length + size + 1)))
		r->refused = 503;
	if (r->refused) {
		drop_body(s, r);
		return;
	}
	memcpy(grown + r->length, data, size);
	r->body = grown;
	r->length += size;
	grown[r->length] = '\0';
	atomic_fetch_add(&s->body_bytes, size);
}

static enum MHD_Result handle(struct http_server *s, struct MHD_Connection *mhd, const char *path,
			      const char *method, const struct request *r)
{
	struct http_request request = {
		.method = method,
		.path = path,
		.body = r->body ? r->body : "",
		.body_len = r->length,
		.auth = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, WIRE_AUTH_HEADER),
	};
	struct http_reply reply = { 500, NULL, NULL };

	note_complete(s, mhd);
	if (r->refused)
		return refuse(mhd, r->refused,
			      r->refused == 413 ? "the body is too long" : "too much at a time");
	if (strlen(request.body) != r->length)
		return refuse(mhd, 400, "the body holds a NUL byte");
	s->handler(s->arg, &request, &reply);
	return answer(mhd, &reply);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *mhd, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **context)
{
	struct request *r = *context;

	(void)version;
	if (!r) { /* header only */
		if (strcmp(method, "GET") != 0 && strcmp(method, "POST") != 0)
			return refuse(mhd, 405, "GET or POST");
		if (announced_too_long(mhd))
			return refuse(mhd, 413, "the body is too long");
		*context = calloc(1, sizeof(*r));
		return *context ? MHD_YES : MHD_NO;
	}
	if (*size) {
		collect(arg, r, data, *size);
		*size = 0;
		return MHD_YES;
	}
	return handle(arg, mhd, url, method, r);
}

static void on_completed(void *arg, struct MHD_Connection *mhd, void **context,
			 enum MHD_RequestTerminationCode code)
{
	struct request *r = *context;

	(void)mhd;
	(void)code;
	if (r)
		drop_body(arg, r);
	free(r);
	*context = NULL;
}

/* ---- starting ---- */

/* "host:port" into an address. Names are allowed; "*" and nothing are all addresses. */
static int find_address(const char *listen, struct addrinfo **found, struct err *err)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(listen, ':');
	size_t len = colon ? (size_t)(colon - listen) : 0;
	char *host;
	int rc;

	if (!colon || !colon[1])
		return err_set(err, EINVAL,
			       "listen = \"%s\": address:port is needed, such as 0.0.0.0:6827",
			       listen);
	host = len >= 2 && listen[0] == '[' && listen[len - 1] == ']' ? strndup(listen + 1, len - 2)
								      : strndup(listen, len);
	if (!host)
		return err_set(err, ENOMEM, "out of memory");
	rc = getaddrinfo(host[0] && strcmp(host, "*") != 0 ? host : NULL, colon + 1, &hints, found);
	free(host);
	return rc ? err_set(err, EINVAL, "listen = \"%s\": %s", listen, gai_strerror(rc)) : 0;
}

/* A bound and listening socket, or a negative errno. */
static int open_socket(const char *listen_on, struct err *err)
{
	struct addrinfo *found = NULL;
	int fd = find_address(listen_on, &found, err), one = 1;

	if (fd < 0)
		return fd;
	fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    found->ai_protocol);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) < 0 || listen(fd, 1024) < 0) {
		int code = errno;

		if (fd >= 0)
			close(fd);
		fd = err_set(err, code, "can't listen on %s: %s", listen_on, strerror(code));
	}
	freeaddrinfo(found);
	return fd;
}

static struct MHD_Daemon *start_daemon(struct http_server *s, int fd)
{
	return MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, s,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE,
		(unsigned int)HTTP_THREADS, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)HTTP_MAX_CONNECTIONS, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned int)HTTP_MAX_PER_ADDRESS, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned int)HTTP_REQUEST_S, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_END);
}

struct http_server *http_start(const char *listen, http_handler *handler, void *arg,
			       struct err *err)
{
	pthread_condattr_t attr;
	struct http_server *s;
	int fd = open_socket(listen, err);

	if (fd < 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s) {
		close(fd);
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	s->handler = handler;
	s->arg = arg;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->ending, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&s->sweeper, NULL, sweep, s) == 0) {
		s->daemon = start_daemon(s, fd);
		if (s->daemon)
			return s;
		err_set(err, EIO, "%s: libmicrohttpd can't start", listen);
		close(fd);
		http_stop(s);
		return NULL;
	}
	err_set(err, EAGAIN, "no thread can be started");
	close(fd);
	free(s);
	return NULL;
}

void http_stop(struct http_server *s)
{
	if (!s)
		return;
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->ending);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->sweeper, NULL);
	pthread_cond_destroy(&s->ending);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
