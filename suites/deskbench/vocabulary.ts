/** The open classes of the world: things, places, colors. Small, since a word that training never shows cannot be learnt. */

export const ITEMS = ['lamp', 'chair', 'desk', 'phone', 'book', 'clock'] as const;
export const CITIES = ['paris', 'rome', 'oslo', 'lima', 'cairo', 'delhi'] as const;
export const COLORS = ['gold', 'blue', 'red', 'green'] as const;
