"""Write the reference pages anew: `make docs`, or python -m tests.documents."""

from tests.documents.pages import FOLDER, PAGES


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        file, text = FOLDER / name, page()
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            print(f"docs/reference/{name}: written")


if __name__ == "__main__":
    main()
