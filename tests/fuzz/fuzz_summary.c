/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_summary.c - the arithmetic of counters: the input is samples of four counters, each a byte
 * that says which of them could be read and four values. A record comes out, whatever they did.
 */
#include "fuzz.h"
#include "summary.h"

static const struct series series[] = {
	{ "infiniband", (char *)"port_rcv_data", (char *)"mlx5_0:1", M_RX_BYTES, SCOPE_NODE,
	  SERIES_WRAPS, 64, 4, false },
	{ "infiniband", (char *)"symbol_error", (char *)"mlx5_0:1", M_ERRORS, SCOPE_NODE,
	  SERIES_SATURATES, 16, 1, true },
	{ "infiniband", (char *)"packet_seq_err", (char *)"mlx5_0:1", M_RETRANSMITS, SCOPE_NODE,
	  SERIES_WRAPS, 32, 1, false },
	{ "processes", (char *)"cpu", (char *)"step", M_CPU_US, SCOPE_OWN, SERIES_WRAPS, 64, 1,
	  false },
};

#define SERIES (sizeof(series) / sizeof(series[0]))
#define SAMPLE (1 + SERIES * sizeof(uint64_t))

static void feed(struct summary *s, const char *data, size_t len)
{
	for (size_t at = 0; at + SAMPLE <= len; at += SAMPLE) {
		uint64_t values[SERIES];
		bool valid[SERIES];

		memcpy(values, data + at + 1, sizeof(values));
		for (size_t i = 0; i < SERIES; i++)
			valid[i] = data[at] >> i & 1;
		summary_pass(s, (int64_t)(at / SAMPLE) * (data[at] & 16 ? 1 : 1000000000), values,
			     valid, SERIES, at + 2 * SAMPLE > len);
	}
}

static void run(const char *data, size_t len)
{
	struct summary *s = fuzz_have(summary_new(1000000000));
	struct record *r = fuzz_have(record_new()), *again;
	char text[RECORD_TEXT], *line;
	struct err err;

	memset(r->id, 'a', sizeof(r->id) - 1);
	r->node = fuzz_have(strdup("n1"));
	for (size_t i = 0; i < SERIES; i++)
		must(summary_add_series(s, &series[i]) == 0);
	feed(s, data, len);
	must(summary_fill(s, r) == 0);
	if (summary_trouble(s, text, sizeof(text)))
		must(text[0]);
	line = fuzz_have(record_line(r));
	again = record_parse(line, strlen(line), "fuzz", &err);
	if (!again)
		fuzz_broken(__FILE__, __LINE__, err.text);
	record_free(again);
	record_free(r);
	summary_free(s);
	free(line);
}

const struct fuzz_target fuzz_summary = { "summary", "", run };
