/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * env.c - reading the env file, see env.h.
 *
 * The file is a few lines of blank-separated fields that sfabricd made ready, so that nothing has
 * to be parsed, decided or allocated here but the choice of lines: the caller has the text in a
 * buffer, the answer goes into another buffer of the caller's. The text is read as bytes with a
 * length: it may lack its end, hold NULs or anything else. When in doubt the answer is false, and
 * the task gets no variable.
 */
#include "env.h"

#include <string.h>

#define HEAD "fabric-env 1 "
#define GRES_MAX 65535

/* A piece of the text; it has no end mark of its own. */
struct span {
	const char *at;
	size_t len;
};

static bool is(struct span s, const char *word)
{
	return s.len == strlen(word) && memcmp(s.at, word, s.len) == 0;
}

/* Takes what stands before the next mark off rest; without a mark all of it. False: rest is empty.
 */
static bool cut(struct span *rest, char mark, struct span *piece)
{
	const char *end;

	if (rest->len == 0)
		return false;
	end = memchr(rest->at, mark, rest->len);
	*piece = (struct span){ rest->at, end ? (size_t)(end - rest->at) : rest->len };
	rest->at += piece->len + (end ? 1 : 0);
	rest->len -= piece->len + (end ? 1 : 0);
	return true;
}

int env_wanted_parse(const char *text)
{
	struct span rest = { text, strlen(text) }, word;
	int wanted = 0;

	if (is(rest, "none"))
		return 0;
	if (rest.len == 0 || rest.at[rest.len - 1] == ',')
		return -1;
	while (cut(&rest, ',', &word)) {
		if (is(word, "ucx"))
			wanted |= ENV_UCX;
		else if (is(word, "nccl"))
			wanted |= ENV_NCCL;
		else if (is(word, "nvshmem"))
			wanted |= ENV_NVSHMEM;
		else
			return -1;
	}
	return wanted;
}

bool env_file_valid(const char *text, size_t len, const char *boot_id)
{
	struct span rest = { text, len }, line;
	size_t head = strlen(HEAD);

	/* A boot id is never shorter than this; "-" stands for one that was not known. */
	if (strlen(boot_id) < 8 || len == 0 || text[len - 1] != '\n' || !cut(&rest, '\n', &line))
		return false;
	return line.len > head && memcmp(line.at, HEAD, head) == 0 &&
	       is((struct span){ line.at + head, line.len - head }, boot_id);
}

static bool copy(struct span s, char *out, size_t size)
{
	if (s.len == 0 || s.len >= size || memchr(s.at, '\0', s.len))
		return false;
	memcpy(out, s.at, s.len);
	out[s.len] = '\0';
	return true;
}

bool env_nccl(const char *text, size_t len, char *out, size_t size)
{
	struct span rest = { text, len }, line, key;

	while (cut(&rest, '\n', &line))
		if (cut(&line, ' ', &key) && is(key, "nccl"))
			return copy(line, out, size);
	return false;
}

/* A decimal number up to GRES_MAX; -1 on anything else. */
static int number(struct span s)
{
	int value = 0;

	if (s.len == 0)
		return -1;
	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return -1;
		value = value * 10 + (s.at[i] - '0');
		if (value > GRES_MAX)
			return -1;
	}
	return value;
}

/* The list of one GPU; false when the file does not know it or it has none. */
static bool find_gpu(struct span text, int which, int gres, struct span *list)
{
	struct span line, key, index, ucx, nvshmem;

	while (cut(&text, '\n', &line)) {
		if (!cut(&line, ' ', &key) || !is(key, "gpu") || !cut(&line, ' ', &index) ||
		    number(index) != gres)
			continue;
		if (!cut(&line, ' ', &ucx) || !cut(&line, ' ', &nvshmem))
			return false;
		*list = which == ENV_UCX ? ucx : nvshmem;
		return list->len > 0 && !is(*list, "-") && !memchr(list->at, '\0', list->len);
	}
	return false;
}

static bool listed(const char *list, size_t used, struct span port)
{
	struct span rest = { list, used }, other;

	while (cut(&rest, ',', &other))
		if (other.len == port.len && memcmp(other.at, port.at, port.len) == 0)
			return true;
	return false;
}

/* Appends the ports of list that out does not have; false when they do not fit. */
static bool join(struct span list, char *out, size_t size, size_t *used)
{
	struct span port;

	while (cut(&list, ',', &port)) {
		size_t comma = *used > 0;
		if (port.len == 0 || listed(out, *used, port))
			continue;
		if (*used + comma + port.len >= size)
			return false;
		if (comma)
			out[(*used)++] = ',';
		memcpy(out + *used, port.at, port.len);
		*used += port.len;
	}
	out[*used] = '\0';
	return true;
}

bool env_gpu_list(const char *text, size_t len, int which, const char *gpus, char *out, size_t size)
{
	struct span rest = { gpus, strlen(gpus) }, word, list;
	size_t used = 0;

	if (size == 0 || (which != ENV_UCX && which != ENV_NVSHMEM))
		return false;
	out[0] = '\0';
	while (cut(&rest, ',', &word)) {
		int gres = number(word);
		if (gres < 0 || !find_gpu((struct span){ text, len }, which, gres, &list) ||
		    !join(list, out, size, &used)) {
			out[0] = '\0';
			return false;
		}
	}
	return used > 0;
}
