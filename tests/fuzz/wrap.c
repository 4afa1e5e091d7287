/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wrap.c - what stands between a parser and its bytes and can't be had in a fuzz target: munged and
 * a server. The linker (--wrap) puts these in their places.
 */
#include <munge.h>

#include "fuzz.h"
#include "wire.h"

static char *credential, *reply_text;
static size_t credential_len;
static int reply_status;

munge_err_t __wrap_munge_decode(const char *cred, munge_ctx_t ctx, void **buf, int *len, uid_t *uid,
				gid_t *gid);
munge_err_t __wrap_munge_encode(char **cred, munge_ctx_t ctx, const void *buf, int len);
int __wrap_wire_get(const struct conf *conf, const char *path, int timeout_ms,
		    struct wire_reply *reply, struct err *err);

void fuzz_wrap_credential(const char *payload, size_t len)
{
	free(credential);
	credential = fuzz_text(payload, len);
	credential_len = len;
}

void fuzz_wrap_reply(int status, const char *text)
{
	free(reply_text);
	reply_text = fuzz_text(text, strlen(text));
	reply_status = status;
}

/* Every credential is good, root's, and says what fuzz_wrap_credential() was told. */
munge_err_t __wrap_munge_decode(const char *cred, munge_ctx_t ctx, void **buf, int *len, uid_t *uid,
				gid_t *gid)
{
	(void)cred;
	(void)ctx;
	*buf = fuzz_text(credential, credential_len);
	*len = (int)credential_len;
	*uid = 0;
	*gid = 0;
	return EMUNGE_SUCCESS;
}

munge_err_t __wrap_munge_encode(char **cred, munge_ctx_t ctx, const void *buf, int len)
{
	(void)ctx;
	*cred = fuzz_text(buf, (size_t)len);
	return EMUNGE_SUCCESS;
}

int __wrap_wire_get(const struct conf *conf, const char *path, int timeout_ms,
		    struct wire_reply *reply, struct err *err)
{
	(void)conf;
	(void)path;
	(void)timeout_ms;
	(void)err;
	*reply = (struct wire_reply){ .status = reply_status,
				      .json = fuzz_text(reply_text, strlen(reply_text)),
				      .length = strlen(reply_text) };
	return 0;
}
