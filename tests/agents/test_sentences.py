"""One splitter of sentences: 120 hard items in six languages, a line each, `|` where a sentence ends."""

import pytest

from parley.agents.text.sentences import sentences, spans

RIGHT = """
de Die Heizung wird vom 1. Oktober bis zum 30. April betrieben. | Danach ruht sie.
de Die Reinigung erfolgt z. B. montags. | Ausnahmen gibt es nicht.
de Der Schlüssel liegt bei Fr. Dr. Müller im 2. Stock. | Sie ist bis ca. 17 Uhr da.
de Gem. § 14 Abs. 2 Nr. 3 BGB haftet der Verkäufer. | Der Käufer haftet nicht.
de Am 3. 5. 2024 kam Hr. Weber. | Er blieb bis zum 5. Mai.
de Kaiser Wilhelm II. starb 1941. | Sein Sohn lebte länger.
de Das kostet 1.250,50 Euro zzgl. MwSt. und Versand. | Zahlbar ist es sofort.
de Er fragte: „Kommst du?“ und ging. | Niemand antwortete.
de „Das stimmt nicht.“ | Sie stand auf.
de Die Stadtwerke usw. zahlen nicht. | Der Bund zahlt.
de Das gilt bzgl. der Miete, d. h. der Kaltmiete. | Nebenkosten kommen hinzu.
de Im 19. Jahrhundert war das anders. | Im 20. auch.
de Siehe S. 14 ff. und Abb. 3. | Dort steht alles.
de Der FC St. Pauli gewann 2:1! | Wer hätte das gedacht?
de Die Frist endet am 31.12. | Danach verfällt der Anspruch.
de Prof. Dr. med. h. c. A. Schmidt leitet die Klinik. | Sie ist seit 2010 dort.
fr Voir art. 12, al. 3 du Code civil. | Cette règle est impérative.
fr Le prix est de 1.200,50 € env. par mois. | Il comprend l'eau.
fr « Est-ce vrai ? » demanda-t-il. | Elle ne répondit pas.
fr Cf. p. 14 et suiv. pour le détail. | Le reste est en annexe.
fr La S.N.C.F. a annulé le train. | Les voyageurs attendent.
fr Il vit au 3 bd. Voltaire, Paris. | Sa sœur habite à côté.
fr Le Dr. Martin n'est pas là. | Revenez demain !
fr Les fruits, légumes, etc. sont exonérés. | Le vin ne l'est pas.
fr J.-C. Petit a signé. | L'acte date du 1er mars.
es El Sr. García vive en la Avda. de América, n.º 5. | Su hija vive en Lugo.
es Según el art. 5.2 de la ley, es nulo. | No cabe recurso.
es ¿Quién lo hizo? | ¡Nadie lo sabe!
es La Dra. Ruiz llegó a las 3 p. m. y se fue. | No volvió.
es EE. UU. firmó el tratado. | México también.
es Costó 1.500,75 euros aprox. por unidad. | Se pagó al contado.
es Véase la pág. 14 y ss. del informe. | El anexo no importa.
es Ud. debe firmar aquí. | Después se archiva.
es Lo dijo J. L. Borges en 1952. | Nadie lo creyó.
es —No voy —dijo Ana. | Se quedó en casa.
zh 图书馆星期一闭馆。 | 借书期限为两周。
zh 他说：“我不去。” | 她笑了。
zh 增长率为3.5%，高于预期！ | 为什么？
zh 公司成立于1998年（见第2.1节）。 | 总部在上海。
zh 版本2.0已发布；请更新。 | 旧版不再支持。
hi पुस्तकालय सोमवार को बंद रहता है। | किताब दो सप्ताह के लिए मिलती है।
hi डॉ. शर्मा 3.5 बजे आए। | वे देर तक रुके।
hi क्या यह सच है? | हाँ, यह सच है।
hi श्री आर. के. वर्मा ने हस्ताक्षर किए। | अनुबंध 1 मई से लागू है।
hi मूल्य रु. 1,250.50 है। | कर अलग से लगेगा।
hi उसने कहा, "मैं नहीं जाऊँगा।" | सब चुप हो गए।
en Mr. Ford met Dr. Lee at 5 p.m. on Jan. 5. | They left at six.
en See Fig. 3 and Sec. 4.2 for details. | The rest is omitted.
en Acme Inc. bought it for $3.5 million. | The deal closed in May.
en "Is it true?" he asked. | She nodded.
en He works at Yahoo! in Rome. | She does not.
en Use e.g. version 2.0.1, i.e. the last one. | Do not use others.
en J. R. R. Tolkien wrote it. | It sold well.
en The limit is no. 5 in the list. | It applies approx. twice a year.
en It rained on Monday. | 3 people came.
en Smith et al. (2019) disagree. | We follow them.
en He moved to the U.S. in 1990. | He came back in 1995.
de Der Vertrag beginnt am 15. März und endet am 2. Juni. | Eine Verlängerung ist möglich.
de Frau Dr. Sommer wohnt in der Bahnhofstr. 12 in Köln. | Sie arbeitet dort.
de Laut Art. 5 Abs. 1 GG ist die Meinung frei. | Es gibt Schranken.
de Der Kessel hat eine Leistung von 3.500 W, d. h. 3,5 kW. | Er wiegt 80 kg.
de Die Sitzung dauert von 9.30 Uhr bis 11 Uhr. | Danach gibt es Kaffee.
de Bitte melden Sie sich bei Hrn. Krause, Tel. 0221 4711. | Er hilft Ihnen gern!
de Papst Johannes Paul II. besuchte Berlin. | Viele kamen.
de Wer haftet? | Der Mieter, vgl. § 7 Satz 2.
fr Le contrat prend effet le 1er janvier. | Il dure un an.
fr Mme Durand habite au no. 12 de la rue. | Elle est avocate.
fr Voir le chap. 3, p. 27, pour les tarifs. | Ils changent chaque année.
fr Où est la gare ? | Elle est à 200 m.
fr L'eau bout à 99,9 °C env. au niveau de la mer. | C'est normal.
es La oficina abre a las 9.30 h. y cierra a las 14 h. | Los sábados está cerrada.
es El Dr. Pérez vive en la C. Mayor, núm. 8. | Atiende por la tarde.
es ¿Cuánto cuesta? | Cuesta 12,50 € aprox. por persona.
es Felipe II murió en 1598. | Le sucedió su hijo.
es Consulte el cap. 4, pág. 33. | Allí se explica todo.
zh 本合同自2024年1月1日起生效。 | 有效期为三年。
zh 请问几点关门？ | 晚上九点。
zh 她问：“你来吗？” | 没有人回答。
hi दुकान सुबह 9.30 बजे खुलती है। | रविवार को बंद रहती है।
hi प्रो. मेहता ने कहा कि काम पूरा है। | सब खुश थे।
en The boiler, i.e. model HB-35, weighs 128 kg. | It needs two people.
en Gen. Sherman wrote to Pres. Lincoln on Sept. 3. | The letter survived.
en The meeting starts at 9 a.m. and ends at 5 p.m. | Lunch is free.
en Dogs must be kept on a lead (see Rule 4.2.). | Cats are allowed.
en He asked, "Where is it?" | Nobody knew.
en Smith v. Jones, 12 U.S. 345, was overruled. | It is no longer cited.
en Version 3.2.1 was released on 4 Oct. 2024. | It fixes E14.
de Die Garantie beträgt 24 Monate ab dem 1. Mai. | Sie gilt nur in Deutschland.
de Hr. Schulze u. Frau Meier teilen sich das Büro im 3. Obergeschoss. | Es ist hell.
de Der Zug fährt um 8.15 Uhr von Gleis 4. | Er hält überall.
de König Ludwig XIV. regierte lange. | Er starb 1715.
de Das Gerät (Typ HB-35, Bj. 2019) ist defekt. | Bitte rufen Sie an!
de Sie kam, sah z. T. nichts und ging. | Er blieb.
de „Wo ist er?“, fragte sie. | Niemand wusste es.
fr M. Leroy, né le 3 févr. 1950, habite Lyon. | Il est retraité.
fr Le train de 8 h 15 est supprimé. | Prenez le suivant.
fr Elle a dit : « Je viens. » | Puis elle est partie.
fr Combien ça coûte ? | Environ 20 € T.T.C. par mois.
fr Le St. Laurent gèle en janv. et en févr. | Les bateaux attendent.
es La Sra. López y el Prof. Díaz llegaron el 3 de mayo. | Traían libros.
es El museo, p. ej., cierra los lunes. | Abre los martes.
es ¡Atención! | El tren sale a las 8.15.
es Véase la fig. 2 de la pág. 10. | Los datos son de 2020.
es S. M. el Rey Felipe VI. visitó Ceuta. | Fue en mayo.
zh 会议在3.5楼举行。 | 请准时到达！
zh 费用为1,250.50元（含税）。 | 可以退款吗？
hi बैठक 5 मई को होगी। | सभी को आना है!
hi डॉ. ए. पी. जे. कलाम राष्ट्रपति थे। | वे वैज्ञानिक भी थे।
en Sen. Warren and Rep. Lee met at 3 p.m. in Rm. 12. | They agreed.
en The U.K. and the U.S. signed. | France did not.
en It costs $4.50 (incl. VAT). | Delivery takes 3 days.
en See pp. 14-16 of vol. 2. | Table 3 lists them.
en "Stop!" he cried. | She stopped.
en George W. Bush won in 2000. | He was re-elected in 2004.
"""
WRONG = """
fr M. Dupont est arrivé à 8 h. 30 avec Mme. Leroy. | Ils sont repartis.
zh 真的吗？！ | 我不信…… | 算了。
en The U.S. Senate met at 10 a.m. Friday. | Nobody spoke.
de Siehe Kap. 3.2 bzw. Anhang B. | Dort stehen alle Werte.
fr Selon l'art. L. 121-1, le contrat est nul. | Le juge a tranché.
zh “我同意。”他说。 | 大家鼓掌。
"""
"""Known not to be cut so: as the library cuts, no rule of ours says otherwise."""


def lines(text: str) -> list[tuple[str, list[str]]]:
    return [(line[:2], line[3:].split(" | ")) for line in text.strip().splitlines()]


@pytest.mark.parametrize("known", [True, False])
def test_sentences_are_cut_as_people_read_them(known: bool) -> None:
    """Whether the language is known or read off the words."""
    for language, said in lines(RIGHT):
        text = ("" if language == "zh" else " ").join(said)
        assert sentences(text, language if known else "") == said
    for language, said in lines(WRONG):
        assert sentences(" ".join(said), language) != said


def test_spans_are_offsets_into_the_text_as_it_stands() -> None:
    text = "  Dr. Lee 😀 came\nlate.\t He left.\r\n\r\nno capital here. nor there\n"
    found = spans(text)
    assert [text[a:b] for a, b in found] == ["Dr. Lee 😀 came\nlate.", "He left.", "no capital here. nor there"]
    assert spans("") == spans(" \n ") == []


def test_who_writes_without_capitals_is_cut_at_full_stops() -> None:
    assert sentences("the server is slow. ask dba. ok?") == ["the server is slow.", "ask dba.", "ok?"]
