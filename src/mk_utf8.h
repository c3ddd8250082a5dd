/*
 * mk_utf8.h
 *		Text of the database as bytes of a record, which are UTF-8, and back.
 */
#ifndef MK_UTF8_H
#define MK_UTF8_H

/*
 * A text as a bytea in UTF-8; 22P05 for a text that has none.  The error does
 * not show the text.
 */
extern struct varlena *mk_utf8_from_text(struct varlena *text);

/*
 * The same back: NULL if the bytes are no text that the database's encoding
 * has; and why not, as a sentence.  It depends on the bytes and the encoding
 * only.
 */
extern struct varlena *mk_utf8_to_text(struct varlena *bytes);
extern const char *mk_utf8_problem(void);

#endif /* MK_UTF8_H */
