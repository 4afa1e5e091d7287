/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hints_gres.c - see hints_gres.h.
 *
 * Cores are Slurm's own numbers, socket after socket, and have to cover whole sockets: slurmctld
 * takes them for the sockets they are in. A GPU's socket is that of its NUMA node; Linux numbers
 * the nodes of a socket in a row. Links name GPUs by their order on the PCI bus, which is the
 * map's, and not by the number of their device file (gres.conf(5)). What is not known is left out.
 */
#include "hints_gres.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "io.h"
#include "text.h"

#define RENDER_MINOR 128 /* from here on minors are those of /dev/dri/renderD* (linux drm_drv.c)   \
			  */

struct block { /* the lines of one node, each behind its NodeName */
	const char *host;
	char *lines;
};

bool gres_layout_parse(const char *text, struct gres_layout *layout)
{
	uint64_t n[3] = { 0, 0, 1 };
	char part[16];
	size_t count = 0;

	for (;; text++) {
		size_t len = strcspn(text, ":");
		if (count == 3 || len == 0 || len >= sizeof(part))
			return false;
		memcpy(part, text, len);
		part[len] = '\0';
		if (!u64_parse(part, 4096, &n[count]) || n[count] == 0)
			return false;
		count++;
		text += len;
		if (!*text)
			break;
	}
	layout->sockets = (unsigned)n[0];
	layout->cores = (unsigned)n[1];
	layout->numas = (unsigned)n[2];
	return count >= 2;
}

static char *file_of(const struct map_gpu *gpu)
{
	return io_format(gpu->minor >= RENDER_MINOR ? "/dev/dri/renderD%d" : "/dev/nvidia%d",
			 gpu->minor);
}

/* The socket of a GPU; false: not known. */
static bool socket_of(const struct map_gpu *gpu, const struct gres_layout *layout, unsigned *socket)
{
	if (!layout->sockets || gpu->numa < 0)
		return false;
	*socket = (unsigned)gpu->numa / layout->numas;
	return *socket < layout->sockets;
}

static void add_cores(struct io_text *out, const struct map_gpu *gpu,
		      const struct gres_layout *layout)
{
	unsigned socket;

	if (socket_of(gpu, layout, &socket))
		io_add(out, " Cores=%u-%u", socket * layout->cores,
		       (socket + 1) * layout->cores - 1);
}

static bool same_cores(const struct map_gpu *a, const struct map_gpu *b,
		       const struct gres_layout *layout)
{
	unsigned sa = 0, sb = 0;
	bool known = socket_of(a, layout, &sa);

	return known == socket_of(b, layout, &sb) && sa == sb;
}

/* "Name=gpu File=/dev/nvidia[0-3]" of GPUs that say the same. */
static int add_files(struct io_text *out, const struct map_gpu *gpus, size_t count)
{
	char **files = calloc(count + 1, sizeof(*files)), *folded = NULL;
	size_t made = 0;

	for (; files && made < count; made++)
		if (!(files[made] = file_of(&gpus[made])))
			break;
	if (files && made == count)
		folded = hosts_fold((const char *const *)files, count);
	if (folded)
		io_add(out, "Name=gpu File=%s", folded);
	hosts_free(files, made);
	free(folded);
	return folded ? 0 : -ENOMEM;
}

static int add_lines(struct io_text *out, const struct map *m, const struct gres_layout *layout)
{
	int rc = 0;

	for (size_t i = 0, end; rc == 0 && i < m->gpu_count; i = end) {
		for (end = i + 1; !layout->links && end < m->gpu_count &&
				  same_cores(&m->gpus[i], &m->gpus[end], layout);)
			end++;
		rc = add_files(out, &m->gpus[i], end - i);
		add_cores(out, &m->gpus[i], layout);
		for (size_t j = 0; layout->links && j < m->gpu_count; j++)
			io_add(out, "%s%d", j ? "," : " Links=", j == i ? -1 : (int)layout->links);
		io_add(out, "\n");
	}
	return rc;
}

/* Why no line can be written of a node; NULL: it can. */
static const char *why_not(const struct map *m)
{
	if (m->gpu_count == 0)
		return "has no GPU";
	for (size_t i = 0; i < m->gpu_count; i++) {
		if (m->gpus[i].minor < 0)
			return "the device file of a GPU is not known";
		if (i && m->gpus[i].bdf && m->gpus[i - 1].bdf &&
		    strcmp(m->gpus[i].bdf, m->gpus[i - 1].bdf) == 0)
			return "has partitioned GPUs, which need MultipleFiles=";
	}
	return NULL;
}

static int by_lines(const void *x, const void *y)
{
	const struct block *a = x, *b = y;
	int order = strcmp(a->lines, b->lines);

	return order ? order : strcmp(a->host, b->host);
}

/* Each of the lines, behind the nodes that have them. */
static int write_blocks(struct io_text *out, const struct block *blocks, size_t count)
{
	const char **names = calloc(count + 1, sizeof(*names));
	char *folded = NULL;

	for (size_t i = 0; names && i < count; i++)
		names[i] = blocks[i].host;
	if (names)
		folded = hosts_fold(names, count);
	for (const char *at = blocks->lines; folded && *at; at += strcspn(at, "\n") + 1)
		io_add(out, "NodeName=%s %.*s\n", folded, (int)strcspn(at, "\n"), at);
	free(names);
	free(folded);
	return folded ? 0 : -ENOMEM;
}

static int make_blocks(struct io_text *out, const struct map *const *maps, size_t count,
		       const struct gres_layout *layout, struct block *blocks, size_t *made)
{
	for (size_t i = 0; i < count; i++) {
		struct io_text lines = { 0 };
		char safe[300];
		int rc;
		if (why_not(maps[i])) {
			io_add(out, "# %s: %s\n", text_printable(maps[i]->host, safe, sizeof(safe)),
			       why_not(maps[i]));
			continue;
		}
		rc = add_lines(&lines, maps[i], layout);
		blocks[*made] = (struct block){ maps[i]->host, io_end(&lines) };
		if (!blocks[(*made)++].lines || rc < 0)
			return -ENOMEM;
	}
	return 0;
}

char *hints_gres(const struct map *const *maps, size_t count, const struct gres_layout *layout,
		 struct err *err)
{
	struct block *blocks = calloc(count + 1, sizeof(*blocks));
	struct io_text out = { 0 };
	size_t made = 0;
	char *text;
	int rc = blocks ? 0 : -ENOMEM;

	io_add(&out,
	       "# gres.conf of recorded node maps. AutoDetect finds the same where Slurm has it."
	       "\n");
	if (!layout->sockets)
		io_add(&out, "# Without Cores=: say the sockets with --cores.\n");
	if (!layout->links)
		io_add(&out, "# Without Links=: no map says which GPUs NVLinks join.\n");
	if (rc == 0)
		rc = make_blocks(&out, maps, count, layout, blocks, &made);
	if (rc == 0 && made)
		qsort(blocks, made, sizeof(*blocks), by_lines);
	for (size_t i = 0, end; rc == 0 && i < made; i = end) {
		for (end = i; end < made && strcmp(blocks[end].lines, blocks[i].lines) == 0;)
			end++;
		rc = write_blocks(&out, &blocks[i], end - i);
	}
	for (size_t i = 0; blocks && i < made; i++)
		free(blocks[i].lines);
	free(blocks);
	text = io_end(&out);
	if (rc == 0 && text)
		return text;
	free(text);
	err_set(err, ENOMEM, "out of memory");
	return NULL;
}
