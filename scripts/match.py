"""Find the objects that two pictures both show: python scripts/match.py IMAGE0 IMAGE1"""

if __name__ == "__main__":  # the page's processes import this file
    from matching.cli.start import report_interrupts

    report_interrupts()

    from eval.matching.command import main
    from matching.cli.exits import run_as_process

    run_as_process(main)
