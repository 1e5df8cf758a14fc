/* SPDX-License-Identifier: MIT */
/* doctor: see doctor.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/doctor/doctor.h"
#include "user/doctor/advice.h"
#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/base/cli.h"

#define NAME_WIDTH 26
#define LINE_WIDTH 80

/* Prints `text` in lines of LINE_WIDTH, those after the first one indented. */
static void print_wrapped(const char *text, int indent)
{
	int column = indent;

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column > indent && column + 1 + len > LINE_WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		}
		column += printf("%s%.*s", column > indent ? " " : "", len, text);
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

/*
 *   fine  btf                        /sys/kernel/btf/vmlinux, 5321 KiB
 *   stop  CAP_BPF                    missing: no program can be loaded
 *         do: run it through sudo, or ...
 */
static void print_table(const struct finding *findings, size_t count)
{
	unsigned less = 0, stop = 0;

	for (size_t i = 0; i < count; i++) {
		const struct finding *f = &findings[i];
		int indent = 0;

		less += f->verdict == VERDICT_LESS;
		stop += f->verdict == VERDICT_STOP;
		indent = printf("  %-4s  %-*s ", findings_verdict(f->verdict), NAME_WIDTH, f->name);
		print_wrapped(f->found, indent);
		if (*f->remedy) {
			indent = printf("        do: ");
			print_wrapped(f->remedy, indent);
		}
	}
	printf("\n%s\n", stop	? "no recording is possible here: do what stands at 'stop'"
			 : less ? "recording is possible here; what stands at 'less' is restricted"
				: "recording is possible here");
}

static int print_json(const struct finding *findings, size_t count)
{
	struct json *document = json_new_object(), *list, *one;
	char *text = NULL;
	int err = -1;

	if (!document)
		goto out;
	if (!json_put_bool(document, "can_record", findings_permit(findings, count)))
		goto out;
	list = json_put_array(document, "findings");
	for (size_t i = 0; i < count && list; i++) {
		const struct finding *f = &findings[i];

		one = json_put_object(list, NULL);
		if (!one || !json_put_string(one, "name", f->name) ||
		    !json_put_string(one, "verdict", findings_verdict(f->verdict)) ||
		    !json_put_string(one, "found", f->found) ||
		    (*f->remedy && !json_put_string(one, "remedy", f->remedy)))
			goto out;
	}
	text = list ? json_text(document) : NULL;
	if (text)
		err = fputs(text, stdout) < 0 ? -1 : 0;
out:
	if (err)
		log_no_memory("while printing the answer");
	free(text);
	json_free(document);
	return err;
}

enum status doctor_run(int argc, char **argv)
{
	static const struct cli_option options[] = {
		{"json", 0, NULL, cli_flag, 0, "print JSON, for scripts"},
		{0},
	};
	static const struct cli cli = {
		.name = "ovni-bpf doctor",
		.about = "Try whether ovni-bpf can record on this machine; if not, say why and "
			 "what to do.",
		.options = options,
		.notes = "Verdicts: fine; fact (for information); less (a feature is missing); "
			 "stop (no recording is possible).\n"
			 "Exit status: 0 ovni-bpf can record, 1 it cannot, 2 wrong usage.\n"
			 "\n"
			 "Examples:\n"
			 "  # with the rights of a recording\n"
			 "  sudo ovni-bpf doctor\n"
			 "\n"
			 "  # what stops a recording, for a script\n"
			 "  ovni-bpf doctor --json | jq '.findings[] | select(.verdict == "
			 "\"stop\")'",
	};
	struct finding findings[FINDINGS_MAX];
	struct machine machine;
	enum status status;
	bool json = false;
	size_t count;
	int err = 0;

	if (!cli_read(&cli, argc, argv, &json, &status))
		return status;
	machine_look(&machine);
	count = findings_of(&machine, findings);
	if (json)
		err = print_json(findings, count);
	else
		print_table(findings, count);
	if (!err)
		err = flush_stdout();
	return !err && findings_permit(findings, count) ? STATUS_COMPLETE : STATUS_FAILED;
}
