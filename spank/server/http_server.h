/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * http_server.h - HTTP/1.1 in front of a handler, with everything bounded (libmicrohttpd).
 *
 * A request is handed over whole: at most HTTP_MAX_BODY bytes of body, complete within
 * HTTP_REQUEST_S of the connection; connections are limited in number and per address, and so is
 * the memory that bodies take. One request a connection. Everything that is refused here gets a
 * status and {"error": ...}.
 */
#ifndef FABRIC_HTTP_SERVER_H
#define FABRIC_HTTP_SERVER_H

#include <stddef.h>

#include "err.h"

#define HTTP_MAX_BODY (1u << 20)
#define HTTP_MAX_BODIES (128u << 20) /* all that are here at a time; then 503 */
#define HTTP_REQUEST_S 10	     /* header and body must be here by then */
#define HTTP_LIFETIME_S 60	     /* and the answer taken by then */
#define HTTP_MAX_CONNECTIONS 1024
#define HTTP_MAX_PER_ADDRESS 64
#define HTTP_THREADS 4

struct http_request {
	const char *method; /* "GET" or "POST" */
	const char *path;   /* without a query */
	const char *auth;   /* the header Slurm-Fabric-Auth; NULL none */
	const char *body;   /* NUL-terminated, never NULL; no NUL inside */
	size_t body_len;
};

struct http_reply {
	int status;
	char *body;	  /* malloc'ed text; the server frees it. NULL: {"error": status} */
	const char *type; /* a literal */
};

/* Called from several threads. */
typedef void http_handler(void *arg, const struct http_request *request, struct http_reply *reply);

struct http_server;

/* listen: "address:port", "[v6]:port", "*:port". NULL and err when it can't be had. */
struct http_server *http_start(const char *listen, http_handler *handler, void *arg,
			       struct err *err);

/* Ends it: what is being answered is answered. */
void http_stop(struct http_server *s);

#endif
