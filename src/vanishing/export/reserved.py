"""Names that functions of generated C source cannot have."""

import re

#: Of C99 to C23, and those that compilers add without being asked.
KEYWORDS = """
alignas alignof asm auto bool break case char const constexpr continue default do double else enum
extern false float for fortran goto if inline int long nullptr register restrict return short signed
sizeof static static_assert struct switch thread_local true typedef typeof typeof_unqual union
unsigned void volatile while
"""
#: What <stddef.h> defines in any of the standards, and macros of platforms.
DEFINED = """
NULL max_align_t nullptr_t offsetof ptrdiff_t rsize_t size_t unreachable wchar_t wint_t
hpux i386 linux mips sparc sun unix vax
"""
#: Functions of the standard library, whether or not their header is included: their names are
#: reserved, and compilers warn of others that are called so. With those that gcc and clang know
#: from POSIX and BSD.
FUNCTIONS = """
abort abs aligned_alloc alloca asctime at_quick_exit atexit atof atoi atol atoll bcmp bcopy bsearch
btowc bzero call_once calloc clearerr clock ctime dcgettext dgettext difftime div execl execle
execlp execv execve execvp exit fclose feclearexcept fegetenv fegetexceptflag fegetround
feholdexcept feof feraiseexcept ferror fesetenv fesetexceptflag fesetround fetestexcept feupdateenv
fflush ffs ffsimax ffsl ffsll fgetc fgetpos fgets fgetwc fgetws fopen fork fprintf fprintf_unlocked
fputc fputc_unlocked fputs fputs_unlocked fputwc fputws fread free free_aligned_sized free_sized
freopen fscanf fseek fsetpos ftell fwide fwprintf fwrite fwrite_unlocked fwscanf getc getchar getenv
gets gettext getwc getwchar gmtime gmtime_r imaxabs imaxdiv index isalnum isalpha isascii isblank
iscntrl isdigit isgraph islower isprint ispunct isspace isupper iswalnum iswalpha iswblank iswcntrl
iswctype iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit isxdigit labs ldiv
llabs lldiv localeconv localtime localtime_r longjmp malloc mblen mbrlen mbrtowc mbsinit mbsrtowcs
mbstowcs mbtowc memalignment memccpy memchr memcmp memcpy memmove mempcpy memset memset_explicit
mktime perror posix_memalign printf printf_unlocked putc putc_unlocked putchar putchar_unlocked puts
puts_unlocked putwc putwchar qsort quick_exit raise rand realloc remove rename rewind rindex scanf
setbuf setjmp setlocale setvbuf signal snprintf sprintf srand sscanf stpcpy stpncpy strcasecmp
strcat strchr strcmp strcoll strcpy strcspn strdup strerror strfmon strfromd strfromf strfroml
strftime strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strspn strstr
strtod strtof strtoimax strtok strtol strtold strtoll strtoul strtoull strtoumax strxfrm swprintf
swscanf system time timegm timespec_get timespec_getres tmpfile tmpnam toascii tolower toupper
towctrans towlower towupper ungetc ungetwc va_arg va_copy va_end va_start vfprintf vfscanf vfwprintf
vfwscanf vprintf vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf vwprintf vwscanf wcrtomb
wcscat wcschr wcscmp wcscoll wcscpy wcscspn wcsftime wcslen wcsncat wcsncmp wcsncpy wcspbrk wcsrchr
wcsrtombs wcsspn wcsstr wcstod wcstof wcstoimax wcstok wcstol wcstold wcstoll wcstombs wcstoul
wcstoull wcstoumax wcsxfrm wctob wctomb wctrans wctype wmemchr wmemcmp wmemcpy wmemmove wmemset
wprintf wscanf
"""
#: Mathematical functions, which exist for several types: sin, sinf, sinl, ...
MATHEMATICAL = """
acos acosh acospi asin asinh asinpi atan atan2 atan2pi atanh atanpi cabs cacos cacosh canonicalize
carg casin casinh catan catanh cbrt ccos ccosh ceil cexp cimag clog clog10 compoundn conj copysign
cos cosh cospi cpow cproj creal csin csinh csqrt ctan ctanh dadd ddiv dfma dmul drem dsqrt dsub erf
erfc exp exp10 exp10m1 exp2 exp2m1 expm1 fabs fadd fdim fdiv ffma finite floor fma fmax fmaximum
fmaximum_mag fmaximum_mag_num fmaximum_num fmin fminimum fminimum_mag fminimum_mag_num fminimum_num
fmod fmul frexp fromfp fromfpx fsqrt fsub gamma getpayload hypot ilogb isinf isnan j0 j1 jn ldexp
lgamma llogb llrint llround log log10 log10p1 log1p log2 log2p1 logb logp1 lrint lround modf nan
nearbyint nextafter nextdown nexttoward nextup pow pow10 pown powr remainder remquo rint rootn round
roundeven rsqrt scalb scalbln scalbn setpayload setpayloadsig signbit significand sin sincos sinh
sinpi sqrt tan tanh tanpi tgamma totalorder totalordermag trunc ufromfp ufromfpx y0 y1 yn
"""
_RESERVED = frozenset((KEYWORDS + DEFINED + FUNCTIONS + MATHEMATICAL).split())
_OF_ONE_TYPE = re.compile(
    f"({'|'.join(MATHEMATICAL.split())})(f|l|f16|f32x?|f64x?|f128x?|d32x?|d64x?|d128x?)?(_r)?"
)


def is_reserved(name: str) -> bool:
    """Whether C, its library or a compiler has a meaning for a name already.

    Examples
    --------
    >>> from vanishing.export.reserved import is_reserved
    >>> [is_reserved(name) for name in ("ptrdiff_t", "sinf", "y0", "string", "sine")]
    [True, True, True, False, False]
    """
    return name in _RESERVED or _OF_ONE_TYPE.fullmatch(name) is not None
