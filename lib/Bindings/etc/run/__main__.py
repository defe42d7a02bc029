from etc.run.main import main

if __name__ == "__main__":
    main()
