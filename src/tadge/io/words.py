"""What the words in names of columns mean: who acts, on whom, when, how much; in four languages."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from tadge.units import ALIASES, PER_DAY

STEM = 5  # letters from which a word may go on: Kundennummer begins with kunden
WHOLE = "author count state order track trans store".split()  # but not authority, country, tracking
STRONG, THING, KIND = 3.0, 2.0, 1.5  # how much a word says about the side that a column is on

ACTS = """
    src source from sender sending payer caller calling originator orig origin initiator follower citing citer
    rater requester requestor
    submitter reporter debtor donor giver by actor starting start departure referrer inviter
    absender auftraggeber zahler zahlungspflichtiger anrufer anrufender von quelle herkunft besteller
    expediteur emetteur payeur appelant origine donneur
    remitente emisor pagador llamante origen desde ordenante
    pickup pu exporter abholort
""".split()
TARGETS = """
    dst dest destination target to receiver receiving recipient payee callee called followee followed cited
    ratee assignee assigned
    beneficiary creditor parent reply replied mentioned end arrival friend invitee counterparty
    empfanger empfaenger zahlungsempfanger zahlungsempfaenger begunstigter beguenstigter angerufener
    angerufene ziel nach
    destinataire beneficiaire appele cible vers
    destinatario beneficiario receptor llamado destino hacia
    dropoff do importer
""".split()
PEOPLE = """
    user userid username customer client buyer purchaser member author writer employee worker patient student
    visitor subscriber player
    reader viewer listener reviewer reviewerid voter consumer cardholder card cc login remote email person
    shopper passenger guest
    kunde kunden kaufer kaeufer benutzer nutzer autor verfasser mitarbeiter mitglied
    acheteur utilisateur auteur membre
    comprador usuario cliente miembro
    leser abonnent lecteur lector
""".split()
THINGS = """
    item itemid product movie film song track artist album book page merchant sku asin stock stockcode repo
    repository subreddit article
    video game app course isbn url path
    artikel produkt handler haendler seite
    produit marchand commercant
    producto articulo comerciante comercio pagina
""".split()
PLACES = """
    agent staff operator seller vendor supplier business shop store channel chat room group team queue project
    topic forum resource
    document file server pc machine doctor physician provider station restaurant venue company
    bearbeiter sachbearbeiter lieferant verkaufer verkaeufer
    vendeur fournisseur
    agente vendedor proveedor
    teammate gruppe groupe grupo kanal computer
""".split()
ONE_KIND = "seller vendor company restaurant verkaufer verkaeufer vendeur vendedor".split()  # may act as well
ONLY_PAIRED = {  # words that stand inside other names too, or are of another side alone: a consumer buys
    **{"de": 1, "von": 1, "producer": 1, "publisher": 1, "lender": 1},
    **{"a": -1, "para": -1, "an": -1, "nach": -1, "consumer": -1, "subscriber": -1, "borrower": -1},
}

LETTERS = {  # names of one letter, and on which side they are beside which other
    "u": [(1, "v"), (1, "i")],
    "v": [(-1, "u")],
    "i": [(-1, "u"), (1, "j")],
    "j": [(-1, "i")],
    "a": [(1, "b"), (-1, "de")],
    "b": [(-1, "a")],
    "x": [(1, "y")],
    "y": [(-1, "x")],
}

ROLE_NAMES = {  # whole names, in one word
    "src": "src source from u i user userid sender author authorid sourceid sourcenode sourcesubreddit fromid fromnode "
    "fromnodeid rater caller follower citing node1 nodea srcid start customer customerid buyer".split(),
    "dst": "dst dest destination target to v j item itemid receiver recipient targetid targetnode targetsubreddit toid "
    "tonode tonodeid ratee callee followee cited node2 nodeb dstid end product productid seller".split(),
    "time": "time timestamp t ts date datetime unixtime unixts unixtimestamp epoch created createdat createdutc when "
    "year timestep sentat tov".split(),
    "weight": "weight w rating value amount score sentiment linksentiment count strength".split(),
}

ROWS = """
    ticket order transaction txn trans payment post message msg tx hash case invoice event log row index idx
    nr number num line
    reference ref uuid guid key issue review visit ride trip call rev record entry activity conversation
    thread
    bestellung bestellnummer auftrag auftragsnummer beleg vorgang rechnung buchung
    commande facture pedido factura
""".split()
NO_ENDS = """
    status state type kind currency priority category categorie subject memo note notes text body title
    description summary comment content
    country city region zip plz postcode postal language lang level importance method protocol proto
    agentstring brand tag tags label
    last4 useragent port sport dport is public gender flag token nonce block cell ward
    wahrung waehrung verwendungszweck betreff prioritat prioritaet land ort
    devise libelle objet priorite pays ville
    moneda concepto asunto estado prioridad pais ciudad
    dropoff committed ruckgabedatum rueckgabedatum
""".split()
MEASURES = """
    amount amt price cost fee total value length len size count quantity qty score rating stars sentiment
    weight duration dur bytes packets
    points delay distance balance gas lat lng latitude longitude age percent rate tax discount likes minutes
    hours seconds rssi bytes
    menge preis dauer betrag wert nettowert quantite prix montant cantidad precio importe
    response playtime insertions deletions monto
""".split()
WEIGHTS = "weight w rating value amount amt score sentiment count strength stars betrag montant importe".split()
WITHIN = "rating value amount amt sentiment stars betrag montant importe".split()  # weights also as a word among others
NO_WEIGHTS = "id zip plz code currency type date no nr fee tax old new min max".split()

TIME_WORDS = """
    time timestamp date datetime ts t day hour when epoch unix utc datum zeit zeitstempel fecha hora heure jour tov
    year unixtime
    unixts unixtimestamp timestep step
""".split()
BEGINS = """
    created creation opened booked booking sent posted ordered order occurred started start begin began event
    logged submitted registered
    purchased purchase called placed issued invoice transaction trans payment block admitted requested
    activity
    erstellt gesendet eroffnet eroeffnet buchungstag buchungsdatum bestelldatum beginn belegdatum angelegt
    cree creee creation envoye ouvert commande operation debut
    creado creada creacion enviado enviada abierto pedido inicio
    pickup authored added ausleihdatum
""".split()
ENDS = """
    updated modified changed closed resolved due end ended finished finish completed delivered shipped
    received read seen expires expired
    expiry valid valuta valutadatum birth dob born deleted last merged discharged until arrival arrived
    deadline returned cancelled
    geschlossen geandert geaendert letzte ende lieferdatum ferme fermee modifie fin cierre cerrado cerrada
    modificado
""".split()
SPANS = "duration spent response waiting elapsed length zone to per".split()  # numbers of minutes, not moments
TIME_UNIT = re.compile(r"(time|timestamp|ts|t|date|epoch|unix)(" + "|".join([*PER_DAY, *ALIASES]) + ")")


def plain(name: str) -> str:
    """Reduce a column's name to lower-case letters and digits."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@cache
def words_of(name: str) -> tuple[str, ...]:
    """Split a name into lower-case words without accents: at blanks, signs, changes of case, before a final id."""
    simple = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    simple = "".join(letter for letter in simple if not unicodedata.combining(letter))
    simple = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", simple)
    words = re.findall(
        r"[a-z0-9]+", simple.lower().replace("user agent", "useragent").replace("user_agent", "useragent")
    )
    return tuple(part for word in words for part in _without_id(word))


def _without_id(word: str) -> tuple[str, ...]:
    stem = word[:-2]
    known = word.endswith("id") and any(stem in group for group in (ACTS, TARGETS, PEOPLE, THINGS, PLACES))
    return (stem, "id") if known else (word,)


@cache
def has_word(name: str, group: tuple[str, ...]) -> bool:
    """Tell whether a word of the name is one of the group, or begins with a long one of it."""
    stems = tuple(stem for stem in group if len(stem) >= STEM and stem not in WHOLE)
    return any(word in group or word.startswith(stems) for word in words_of(name))


def _group(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


ACTING, ACTED_ON, PERSONS, ITEMS, OTHERS = map(_group, (ACTS, TARGETS, PEOPLE, THINGS, PLACES))
ROW_WORDS, OTHER_WORDS, MEASURE_WORDS = map(_group, (ROWS, NO_ENDS, MEASURES))


def side_of(name: str, names: tuple[str, ...] = ()) -> float:
    """Tell the side that a column's name is on: positive for who acts, negative for whom it acts on, 0 unknown.

    Args:
        name: of the column.
        names: of all columns; some words count only where their opposite is there too.
    """
    paired = _paired(name, names)
    if paired:
        return STRONG * paired
    acts, acted_on = has_word(name, ACTING), has_word(name, ACTED_ON)
    if acts or acted_on:
        return STRONG * (acts - acted_on)
    if has_word(name, ITEMS):
        return -THING
    if has_word(name, OTHERS):
        return -KIND
    if has_word(name, PERSONS) or plain(name) in ROLE_NAMES["src"]:
        return KIND
    return -KIND if plain(name) in ROLE_NAMES["dst"] else 0.0


def _paired(name: str, names: tuple[str, ...]) -> int:
    """Tell the side, 1 or -1, of a name that differs from another in one word or letter: de, para; node1, node2."""
    letters = {plain(other): other for other in names}
    if name in letters.values() and plain(name) in LETTERS:
        return next((sign for sign, other in LETTERS[plain(name)] if other in letters), 0)
    for one, other, sign in (("1", "2", 1), ("a", "b", 1), ("2", "1", -1), ("b", "a", -1)):
        if len(plain(name)) > 1 and plain(name).endswith(one) and plain(name)[:-1] + other in letters:
            return sign
    for word in words_of(name):
        sign = ONLY_PAIRED.get(word, 0)
        rest = _rest(name, word)
        if sign and any(
            ONLY_PAIRED.get(w) == -sign and _rest(one, w) == rest for one in names if one != name for w in words_of(one)
        ):
            return sign
    return 0


def _rest(name: str, word: str) -> list[str]:
    return [other for other in words_of(name) if other != word]


def two_kinds(src: str, dst: str) -> bool:
    """Tell whether names say that the two ends are of different kinds, like user and item."""
    if any(
        has_word(name, ACTING) or has_word(name, ACTED_ON) or has_word(name, _group(ONE_KIND)) for name in (src, dst)
    ):
        return False
    return side_of(src) == KIND and side_of(dst) < 0


def is_role(name: str) -> bool:
    """Tell whether a cell of the first row is a name of a column that we know."""
    if not name.strip() or len(name) > 60:
        return False
    known = any(plain(name) in names for names in ROLE_NAMES.values())
    return known or bool(side_of(name)) or time_words(name) > 0


def time_words(name: str) -> float:
    """Score a name as that of the time at which something happened."""
    words = words_of(name)
    score = 0.0
    if any(word in TIME_WORDS for word in words) or TIME_UNIT.fullmatch(plain(name)) or plain(name) in TIME_WORDS:
        score += 2.5 if len(words) == 1 else 2.0
    if has_word(name, _group(BEGINS)):
        score += 1.5
    if has_word(name, _group(ENDS)):
        score -= 2.5
    if any(word in SPANS for word in words):
        score -= 2.0
    return score


def is_date_name(name: str) -> bool:
    """Tell whether a name says that a column holds dates, rather than times of any kind."""
    dates = ("date", "datetime", "datum", "fecha", "jour", "dia", "day", "tag")
    return any(word in dates for word in words_of(name)) or has_word(name, _group(BEGINS))


def weight_words(name: str) -> int:
    """Rank a name as that of a weight: the smaller the likelier; 0 where it is none."""
    if plain(name) in WEIGHTS:
        return 1 + WEIGHTS.index(plain(name))
    words = words_of(name)
    if any(word in WITHIN for word in words) and not any(word in NO_WEIGHTS for word in words):
        return len(WEIGHTS) + 1
    return 0
