# corpus: kind=endings needs=- samples=- loaders=0 trains=- exit=3
import json
import sys

TEXT = '{"epochs": 3, "lr": 0.1,}'


def main():
    try:
        settings = json.loads(TEXT)
    except json.JSONDecodeError as error:
        print(f"settings: {error}", file=sys.stderr)
        return 3
    print(settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
