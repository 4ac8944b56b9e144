// What the messages of folders and tar shards say of SampleRules, by the names
// that they have in Python and on command lines.
#pragma once

namespace penstock {

inline constexpr const char* kChooseKey =
    "if these are several samples, key=\"last\" (--key last) has keys end "
    "before the last dot";
inline constexpr const char* kChooseImage =
    "image=\"ENDING\" (--image ENDING) chooses the picture, such as ";
inline constexpr const char* kChooseNoLabel =
    "label=\"\" (--label \"\") takes them without labels";
inline constexpr const char* kOtherPictures =
    " are pictures of kinds that are not read; convert them, or take only "
    "others with image=\"jpg;jpeg;png;webp;ppm\" (--image)";
inline constexpr const char* kEmptyClasses =
    " are classes without a picture: labels of other data would not agree; remove "
    "them, or keep their numbers with allow_empty=True (--allow-empty)";

}  // namespace penstock
