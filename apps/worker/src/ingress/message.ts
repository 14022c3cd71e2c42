/** The shape of a wire class: what is sent is data, not an instance. */
export type Message<T> = T extends object ? { [Key in keyof T]: Message<T[Key]> } : T;
