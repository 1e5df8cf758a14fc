/* SPDX-License-Identifier: MIT */
/* elf_answer: see elf_answer.h. */
#include <stdlib.h>
#include <string.h>

#include "user/elf/elf_answer.h"

#define ROOM_FIRST 4096

void elf_answer_put(struct elf_answer *answer, const void *bytes, size_t size)
{
	size_t room = answer->room ? answer->room : ROOM_FIRST;
	char *grown;

	while (room - answer->size < size)
		room *= 2;
	if (room != answer->room) {
		grown = realloc(answer->bytes, room);
		if (!grown) {
			answer->no_room = true;
			return;
		}
		answer->bytes = grown;
		answer->room = room;
	}
	memcpy(answer->bytes + answer->size, bytes, size);
	answer->size += size;
}

void elf_answer_put_string(struct elf_answer *answer, const char *text)
{
	elf_answer_put(answer, text, strlen(text) + 1);
}

bool elf_answer_take(struct elf_answer *answer, void *bytes, size_t size)
{
	if (answer->size - answer->at < size)
		return false;
	memcpy(bytes, answer->bytes + answer->at, size);
	answer->at += size;
	return true;
}

char *elf_answer_take_string(struct elf_answer *answer)
{
	char *text;
	const char *end;

	if (answer->at == answer->size)
		return NULL;
	text = answer->bytes + answer->at;
	end = memchr(text, '\0', answer->size - answer->at);
	if (!end)
		return NULL;
	answer->at += (size_t)(end - text) + 1;
	return text;
}

void elf_answer_free(struct elf_answer *answer)
{
	free(answer->bytes);
	*answer = (struct elf_answer){0};
}
